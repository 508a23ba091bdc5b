// The events that each subscriber received, and whether they were complete and in order.

/// Checks the blocks of all subscribers, one subscriber at a time.
struct DeliveryLedger: EventSink {
    private let checks: DeliveryChecks
    private let streams: Int
    private var orders: [OrderChecker]
    private var marks: MarkLedger
    private var memo: EventMemo
    /// The number of events that each subscriber received.
    private(set) var received: [UInt64]
    /// Whether each subscriber's stream sent `event: end`.
    private(set) var hasEnded: [Bool]
    /// The counts.
    var tally = DeliveryTally()

    private var current = 0
    private var now: UInt64 = 0

    /// An empty ledger for `subscribers`; subscriber i reads stream i mod `streams`.
    init(subscribers: Int, streams: Int, publishers: Int, checks: DeliveryChecks) {
        self.checks = checks
        self.streams = streams
        orders = [OrderChecker](repeating: OrderChecker(), count: subscribers)
        marks = MarkLedger(
            subscribers: checks.marks ? subscribers : 0, publishers: publishers)
        memo = EventMemo(streams: streams)
        received = [UInt64](repeating: 0, count: subscribers)
        hasEnded = [Bool](repeating: false, count: subscribers)
    }

    /// The last id of a subscriber, for `Last-Event-ID`.
    func lastID(of subscriber: Int) -> EventID? { orders[subscriber].last }

    /// Sets the subscriber of the next blocks, and the time of their receipt.
    @inline(__always)
    mutating func begin(subscriber: Int, at now: UInt64) {
        current = subscriber
        self.now = now
    }

    /// Accepts the next event without parsing it, if it is known; returns its end.
    @inline(__always)
    mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int? {
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
