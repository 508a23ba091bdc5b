package import Feeds
internal import JSONCoding
package import Reactors
internal import Storage

/// The readers of topics whose sessions this loop has, or follows.
///
/// Design (ADR-0078): a topic is a session. Each process reads it as a client does, on the loop
/// that its id hashes to, through one relay (``StreamRelay``). The bytes go to the process's
/// ``TopicBus``. So it does not matter which node decides on the session.
package final class TopicReaders {
    private unowned let table: SessionTable
    private var readers: [SessionID: Reader] = [:]
    private var lastStream: UInt64 = 0
    private var retries: [CheckedContinuation<Bool, Never>] = []
    /// Sends a value to the sessions that listen. Default: ``TopicBus/receive(_:of:at:)``.
    var deliver:
        (_ value: TopicValue?, String, TopicPosition, _ skipped: (any Error) -> Void)
            -> TopicDelivery?

    private final class Reader {
        let id: SessionID
        let name: String
        /// Distinguishes it from the other readers.
        let stream: UInt64
        var events = TopicStream()
        /// The number of relays so far.
        var attempts: UInt64 = 0
        var isOpen = false
        /// Whether the present relay has sent something.
        var isHeard = false
        /// The place of the newest value; nil: it is not known yet.
        var position: TopicPosition?
        /// Called when the place is known, or cannot be read now.
        var started: [() -> Void] = []
        var waiting: [(number: UInt64, act: (TopicDelivery?) -> Void)] = []

        init(_ id: SessionID, _ name: String, _ stream: UInt64) {
            (self.id, self.name, self.stream) = (id, name, stream)
        }

        /// The key of the present relay. Unique in the table.
        var relayKey: RelayKey {
            RelayKey(loop: RelayKey.ownLoop, stream: stream, index: 0, attempt: attempts)
        }

        func start() {
            let acts = started
            started = []
            for act in acts { act() }
        }
    }

    init(_ table: SessionTable, _ bus: TopicBus) {
        self.table = table
        deliver = { bus.receive($0, of: $1, at: $2, skipped: $3) }
    }

    // MARK: The process

    /// Begins to read the topics. If a topic has no session, creates it.
    ///
    /// - Parameter done: called once, on this loop, when the newest value of each topic is known or
    ///   cannot be read now.
    package func begin(_ topics: some Sequence<String>, then done: @escaping () -> Void = {}) {
        let ids = topics.compactMap { name in SessionID(topic: name).map { ($0, name) } }
        var left = ids.count
        guard left > 0 else { return done() }
        for (id, name) in ids {
            let reader = readers[id] ?? Reader(id, name, nextStream())
            readers[id] = reader
            reader.started.append {
                left -= 1
                if left == 0 { done() }
            }
            if reader.position != nil { reader.start() } else { open(reader) }
        }
    }

    private func nextStream() -> UInt64 {
        lastStream += 1
        return lastStream
    }

    /// Calls `act` on this loop once the value of this number was sent to the sessions that listen.
    /// Calls it with nil if this process does not read the topic, or has read the value before.
    package func whenRead(
        _ id: SessionID, through number: UInt64, then act: @escaping (TopicDelivery?) -> Void
    ) {
        guard let reader = readers[id], reader.position.map({ $0.number < number }) ?? true
        else { return act(nil) }
        // The journal accepts values, so it may be readable again.
        open(reader)
        reader.waiting.append((number, act))
    }

    /// Lets a session wait until the journal may be readable again.
    func waitForRetry(_ continuation: CheckedContinuation<Bool, Never>) {
        retries.append(continuation)
    }

    private func endWaits(_ isRunning: Bool) {
        let ended = retries
        retries = []
        for continuation in ended { continuation.resume(returning: isRunning) }
    }

    /// Tries to read topics that could not be read. Called at each tick, and four times a second in
    /// a cluster. (A publication at this process does the same for its topic.)
    package func retry() {
        endWaits(true)
        for reader in readers.values where !reader.isOpen { open(reader) }
    }

    /// Stops reading topics, because the process ends. Another node may then continue a topic that
    /// this one decides on. The sessions here get later values at the nodes where they continue.
    package func close() {
        let all = Array(readers.values)
        readers = [:]
        table.relays.receive(all.filter(\.isOpen).map { .close($0.relayKey) }, in: table)
        for reader in all {
            reader.start()
            for waiter in reader.waiting { waiter.act(nil) }
        }
    }

    /// Ends all reads and waits, because the loop stops.
    func removeAll() {
        endWaits(false)
        close()
    }

    // MARK: The session

    private func open(_ reader: Reader) {
        guard !reader.isOpen else { return }
        reader.attempts += 1
        (reader.isOpen, reader.isHeard) = (true, false)
        reader.events = TopicStream()
        let opening = RelayOpening(
            session: reader.id, start: .snapshot, windowBytes: .max, client: nil,
            choose: Self.choose)
        table.relays.receive([.open(reader.relayKey, opening)], in: table)
    }

    private static let choose: RelayChoice.Chooser = { id, found in
        switch found {
        case .session(let session): return events(of: session)
        case .copy(let copy): return events(of: copy)
        case .nothing, .ended: return .end(.unknown)
        default: return .problem(RelayProblem(code: "unreadable", body: []))
        }
    }

    private static func events(of session: any ReadableSession) -> RelayChoice {
        .events(session, Selection(pulses: 1), knownPulses: [])
    }

    /// A relay has sent something, or has ended.
    func receive(_ report: RelayReport) {
        guard let reader = readers.values.first(where: { $0.relayKey == report.key })
        else { return }
        if !report.bytes.isEmpty {
            reader.isHeard = true
            reader.events.append(report.bytes)
            while let event = reader.events.next() { receive(event, reader) }
        }
        guard let end = report.end else { return }
        reader.isOpen = false
        let (waiting, id) = (reader.waiting, reader.id)
        reader.waiting = []
        for waiter in waiting { waiter.act(nil) }
        // Runs in a later job, because this round has already committed.
        let next: @Sendable (SessionTable) -> Void
        switch end {
        case .over: next = { $0.topics.create(id) }
        case .finished where reader.isHeard: next = { $0.topics.reopen(id) }
        // The next `retry()` opens it again.
        case .finished, .problem: return reader.start()
        }
        _ = table.services.hop(next)
    }

    private func create(_ id: SessionID) {
        switch table.find(id) {
        // The journal has no such session.
        case .nothing, .notInMemory, .ended: break
        default: return reopen(id)
        }
        guard readers[id] != nil else { return }
        do throws(RecoveryFault) {
            try table.create(id, .topic, for: ReaderToken.nobody)
            reopen(id)
        } catch {
            preconditionFailure("a new session needs no recovery: \(error)")
        }
    }

    private func reopen(_ id: SessionID) {
        if let reader = readers[id] { open(reader) }
    }

    private func receive(_ event: TopicStream.Event, _ reader: Reader) {
        let place = event.place
        if let known = reader.position, known.generation == place.generation,
            known.includes(place)
        {
            return
        }
        reader.position = place
        let feed = table.sessions[reader.id]?.feed ?? table.asleep(reader.id)
        let value = place.number > 0 ? event.value : nil
        let delivery = deliver(value, reader.name, place) { error in
            guard let feed else { return }
            table.output.report(.undecodable(topic: reader.name, place.number, error), of: feed)
        }
        let due = reader.waiting.filter { $0.number <= place.number }
        reader.waiting.removeAll { $0.number <= place.number }
        for waiter in due { waiter.act(delivery) }
        reader.start()
    }
}

/// Reads the events of a topic's session from its stream of pulses.
private struct TopicStream {
    struct Event {
        let place: TopicPosition
        let value: TopicValue
    }

    private var blocks = RelayBlocks()

    mutating func append(_ more: [UInt8]) { blocks.append(more) }

    /// The next event that has a value; nil if it has not arrived completely.
    mutating func next() -> Event? {
        while let block = blocks.next() {
            if let event = Self.event(in: block) { return event }
        }
        return nil
    }

    private static func event(in block: RelayBlock) -> Event? {
        guard let data = block.data, let position = block.id.flatMap({ Position($0) })
        else { return nil }
        let value: [UInt8]?
        switch block.event {
        case "value": value = data
        case "snapshot": value = JSON.members(of: data)?["value"]
        // The end of the session, or of the stream.
        default: value = nil
        }
        guard let value else { return nil }
        return Event(
            place: TopicPosition(position.generation.text, position.number),
            value: TopicValue(value))
    }
}
