// The events that each subscriber received, and whether they were complete and in order.

/// Checks the blocks of all subscribers, one subscriber at a time. A subscriber has one reading for
/// each session of its stream.
struct DeliveryLedger: EventSink {
    private let checks: DeliveryChecks
    private let streams: Int
    private let sessionsPerStream: Int
    private var orders: [OrderChecker]
    private var marks: MarkLedger
    private var memo: EventMemo
    /// The number of events of each reading.
    private(set) var received: [UInt64]
    /// Whether each reading's stream sent `event: end`.
    private var hasEnded: [Bool]
    /// The counts.
    var tally = DeliveryTally()

    /// The reading of the present block, and the first one of its subscriber.
    private var current = 0
    private var first = 0
    private var now: UInt64 = 0

    /// An empty ledger for `subscribers`; reading i reads stream i mod `streams`.
    init(
        subscribers: Int, streams: Int, sessionsPerStream: Int = 1, publishers: Int,
        checks: DeliveryChecks
    ) {
        self.checks = checks
        self.streams = streams
        self.sessionsPerStream = sessionsPerStream
        let readings = subscribers * sessionsPerStream
        orders = [OrderChecker](repeating: OrderChecker(), count: readings)
        marks = MarkLedger(subscribers: checks.marks ? readings : 0, publishers: publishers)
        memo = EventMemo(streams: streams)
        received = [UInt64](repeating: 0, count: readings)
        hasEnded = [Bool](repeating: false, count: readings)
    }

    /// The streams that a subscriber reads.
    func streams(of subscriber: Int) -> [Int] {
        readings(of: subscriber).map { $0 % streams }
    }

    /// Whether a subscriber can resume.
    func hasPosition(subscriber: Int) -> Bool {
        readings(of: subscriber).contains { orders[$0].last != nil }
    }

    /// Whether a subscriber's stream has begun for each of its sessions. A stream of several
    /// begins with its first one; what is posted to another before its turn has come is not for
    /// this subscriber.
    func hasBegun(subscriber: Int) -> Bool {
        sessionsPerStream == 1 || readings(of: subscriber).allSatisfy { orders[$0].last != nil }
    }

    /// Whether a subscriber's stream has sent all it can.
    func hasEnded(subscriber: Int) -> Bool {
        readings(of: subscriber).allSatisfy { hasEnded[$0] }
    }

    /// Appends the value of `Last-Event-ID`.
    func appendPosition(of subscriber: Int, to bytes: inout [UInt8]) {
        for reading in readings(of: subscriber) {
            if reading % sessionsPerStream > 0 { bytes.append(0x2C) }
            if hasEnded[reading] {
                bytes.append(0x78)
            } else if let last = orders[reading].last {
                last.append(to: &bytes, scheme: checks.ids)
            } else {
                bytes.append(0x2D)
            }
        }
    }

    private func readings(of subscriber: Int) -> Range<Int> {
        let first = subscriber * sessionsPerStream
        return first..<first + sessionsPerStream
    }

    /// Sets the subscriber of the next blocks, and the time of their receipt.
    @inline(__always)
    mutating func begin(subscriber: Int, at now: UInt64) {
        first = subscriber * sessionsPerStream
        current = first
        self.now = now
    }

    /// Accepts the next event without parsing it, if it is known; returns its end.
    @inline(__always)
    mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int? {
        // The vector of a stream of several sessions differs in each event.
        guard sessionsPerStream == 1 else { return nil }
        let ordinal = received[current]
        guard
            let entry = memo.match(
                bytes, at: position, stream: current % streams, ordinal: ordinal),
            entry.before == orders[current].last
        else { return nil }
        received[current] = ordinal &+ 1
        tally.deliveries &+= 1
        if let after = entry.after { orders[current].rebase(to: after) }
        if let mark = entry.mark { tally.count(receive(mark)) }
        return position + entry.length
    }

    /// Checks a block that had to be parsed.
    mutating func receive(_ block: EventBlock, in bytes: Span<UInt8>, range: Range<Int>) {
        var block = block
        guard sessionsPerStream == 1 || find(&block, in: bytes) else {
            if block.isEvent { tally.count(.malformed) } else { prime(block.id, in: bytes) }
            return
        }
        guard let data = block.data else {
            if let id = block.id { rebase(bytes, id) }
            return
        }
        if checks.serviceEvents, let event = block.event,
            takeServiceEvent(bytes, event, id: block.id)
        {
            return
        }
        let before = orders[current].last
        var verdict = OrderVerdict.inOrder
        if checks.ids != .none {
            let id = block.id.flatMap { EventID(bytes, range: $0, scheme: checks.ids) }
            verdict = orders[current].receive(id, scheme: checks.ids)
        }
        let mark = checks.marks ? Mark.find(in: bytes, range: data) : nil
        if checks.marks {
            // One verdict per event: a loss that both checks find is one loss.
            let marked = mark.map { receive($0) } ?? .malformed
            if verdict == .inOrder { verdict = marked }
        }
        tally.count(verdict)
        let ordinal = received[current]
        received[current] = ordinal &+ 1
        tally.deliveries &+= 1
        if verdict == .inOrder {
            memo.remember(
                bytes, range: range, stream: current % streams,
                entry: EventMemo.Entry(
                    ordinal: ordinal, before: before, after: orders[current].last, mark: mark))
        }
    }

    /// Finds the reading of an event `<session>/<name>`, and leaves its name and its session's
    /// position in the block.
    ///
    /// - Returns: false if it is of no session of this stream. A block without a name is not looked
    ///   up: it sets an id.
    private mutating func find(_ block: inout EventBlock, in bytes: Span<UInt8>) -> Bool {
        guard let name = block.event,
            let slash = bytes.firstOffset(of: 0x2F, from: name.lowerBound),
            slash < name.upperBound
        else { return false }
        // A session's name ends with its number.
        var digits = slash
        while digits > name.lowerBound, bytes[digits - 1] &- 0x30 <= 9 { digits -= 1 }
        guard let number = bytes.decimal(in: digits..<slash), number < UInt64(streams) else {
            return false
        }
        let place = (Int(number) - first % streams + streams) % streams
        guard place < sessionsPerStream else { return false }
        current = first + place
        block.event = slash + 1..<name.upperBound
        block.id = block.id.flatMap { entry(place, of: $0, in: bytes) }
        return true
    }

    /// Notes where sessions begin: the id of a block without an event.
    private mutating func prime(_ id: Range<Int>?, in bytes: Span<UInt8>) {
        guard let id else { return }
        for place in 0..<sessionsPerStream where orders[first + place].last == nil {
            guard let entry = entry(place, of: id, in: bytes),
                let position = EventID(bytes, range: entry, scheme: checks.ids)
            else { continue }
            orders[first + place].rebase(to: position)
        }
    }

    /// The position of one session in a vector, or in `<session>/<position>`.
    private func entry(
        _ place: Int, of id: Range<Int>, in bytes: Span<UInt8>
    ) -> Range<Int>? {
        if let slash = bytes.firstOffset(of: 0x2F, from: id.lowerBound), slash < id.upperBound {
            return slash + 1..<id.upperBound
        }
        var start = id.lowerBound
        for _ in 0..<place {
            guard let comma = bytes.firstOffset(of: 0x2C, from: start), comma < id.upperBound
            else { return nil }
            start = comma + 1
        }
        let comma = bytes.firstOffset(of: 0x2C, from: start) ?? id.upperBound
        return start..<min(comma, id.upperBound)
    }

    @inline(__always)
    private mutating func receive(_ mark: Mark) -> OrderVerdict {
        tally.latency.record(mark.age(atNanoseconds: now))
        return marks.receive(mark, subscriber: current)
    }

    private mutating func rebase(_ bytes: Span<UInt8>, _ id: Range<Int>) {
        guard let id = EventID(bytes, range: id, scheme: checks.ids) else { return }
        orders[current].rebase(to: id)
    }

    /// Handles the service's own events; returns false for any other event.
    private mutating func takeServiceEvent(
        _ bytes: Span<UInt8>, _ event: Range<Int>, id: Range<Int>?
    ) -> Bool {
        if bytes.equals("snapshot", in: event) {
            tally.snapshots += 1
        } else if bytes.equals("reset", in: event) {
            tally.resets += 1
            if checks.marks { marks.reset(subscriber: current) }
        } else if bytes.equals("end", in: event) {
            tally.ends += 1
            hasEnded[current] = true
        } else if bytes.equals("ping", in: event) || bytes.equals("problem", in: event) {
            return true
        } else {
            return false
        }
        if let id { rebase(bytes, id) }
        return true
    }
}
