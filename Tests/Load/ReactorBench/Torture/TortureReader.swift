/// One event of a stream.
struct TortureEvent {
    var id: EventID?
    var mark: Mark?
    /// Whether the event states that the stream does not continue at the reader's position.
    var beginsAnew: Bool
    /// Whether it says why the stream ends now.
    var isProblem = false
}

/// Collects the events in received bytes.
struct TortureEvents: EventSink {
    var events: [TortureEvent] = []

    mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int? { nil }

    mutating func receive(_ block: EventBlock, in bytes: Span<UInt8>, range: Range<Int>) {
        guard let data = block.data else { return }
        let name = block.event ?? 0..<0
        events.append(
            TortureEvent(
                id: block.id.flatMap { EventID(bytes, range: $0, scheme: .consecutive) },
                mark: Mark.find(in: bytes, range: data),
                beginsAnew: bytes.equals("reset", in: name) || bytes.equals("snapshot", in: name),
                isProblem: bytes.equals("problem", in: name)))
    }
}

/// One subscriber, over all of its connections: it always resumes with its last id.
struct TortureReader {
    /// The stream that it reads.
    enum Stream: String, CaseIterable {
        case pulses
        case states
        case log
    }

    let session: Int
    let stream: Stream
    /// The received actions in order: the whole history if the reader started at the beginning.
    private(set) var actions: [UInt64] = []
    let keepsActions: Bool
    private var order = OrderChecker()
    /// The number of events.
    private(set) var count = 0

    init(session: Int, stream: Stream, keepsActions: Bool = false) {
        self.session = session
        self.stream = stream
        self.keepsActions = keepsActions
    }

    /// The last number up to which the reader has received everything.
    var number: UInt64 {
        guard let last = order.last else { return 0 }
        return last.part == EventID.whole ? last.number : last.number - 1
    }

    /// The request that resumes at the reader's position; `epoch` is the session's generation.
    mutating func request(to name: String, epoch: UInt64, host: String) -> [UInt8] {
        var id = EventID()
        id.epoch = epoch
        id.part = EventID.whole
        if order.last == nil { order.rebase(to: id) }
        var bytes = Array(
            "GET /v1/sessions/\(name)/\(stream.rawValue) HTTP/1.1\r\nHost: \(host)\r\n".utf8)
        if stream == .log { bytes.append(contentsOf: "Accept: text/event-stream\r\n".utf8) }
        bytes.append(contentsOf: "Last-Event-ID: ".utf8)
        (order.last ?? id).append(to: &bytes, scheme: .consecutive)
        bytes.append(contentsOf: "\r\n\r\n".utf8)
        return bytes
    }

    /// Reads the next event and records it in the ledger.
    mutating func receive(_ event: TortureEvent, _ ledger: inout TortureLedger) {
        count += 1
        guard !event.beginsAnew else {
            return ledger.record(.reset, "\(stream) of session \(session) after \(number)")
        }
        let before = order.last
        switch order.receive(event.id, scheme: .consecutive) {
        case .inOrder: break
        case .gap: ledger.record(.gap, describe(event.id, after: before))
        case .double, .reordered: ledger.record(.repeated, describe(event.id, after: before))
        case .otherEpoch: ledger.record(.generation, describe(event.id, after: before))
        case .malformed: ledger.record(.answer, describe(event.id, after: before))
        }
        // The log also has received actions, as parts of their record's number.
        guard let id = event.id, id.part == EventID.whole, let mark = event.mark else { return }
        let action = TorturePost.action(mark.publisher, mark.sequence)
        ledger.shown(action, at: id.number, of: session)
        if keepsActions { actions.append(action) }
    }

    private func describe(_ id: EventID?, after last: EventID?) -> String {
        let text = { (id: EventID?) in
            guard let id else { return "no id" }
            return "\(id.number)" + (id.part == EventID.whole ? "" : ".\(id.part)")
        }
        return "\(stream) of session \(session): \(text(id)) after \(text(last))"
    }
}
