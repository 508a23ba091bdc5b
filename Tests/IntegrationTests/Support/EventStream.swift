/// An open event stream: parsed items in order, and the raw bytes.
///
/// Waiting ends with the stream, or with the test's time limit, which cancels it.
actor EventStream {
    enum Delivery: Sendable {
        case head(ResponseHead)
        case bytes([UInt8])
        case ended(CurlFailure?)
    }

    /// The stream ended although a test expected more.
    struct Ended: Error, CustomStringConvertible {
        var failure: CurlFailure?
        var lastID: String
        var description: String {
            "the stream ended after \(lastID)\(failure.map { ": \($0)" } ?? "")"
        }
    }

    /// An event with which a test's preparations can't continue.
    struct Surprise: Error {
        var event: Event
    }

    private let deliveries: AsyncStream<Delivery>
    private let inlet: AsyncStream<Delivery>.Continuation
    private var iterator: AsyncStream<Delivery>.AsyncIterator
    private let loop: CurlLoop
    private var number: UInt64 = 0
    private var parser = EventParser()
    private var items: [EventParser.Item] = []
    private var taken = 0
    /// Nil until the stream has ended.
    private(set) var ending: Result<Void, CurlFailure>?
    private(set) var head = ResponseHead()
    /// Everything after the head.
    private(set) var bytes: [UInt8] = []

    init(_ loop: CurlLoop) {
        self.loop = loop
        (deliveries, inlet) = AsyncStream.makeStream()
        iterator = deliveries.makeAsyncIterator()
    }

    deinit {
        loop.cancel(number)
    }

    func start(_ plan: TransferPlan) {
        number = loop.start(plan)
    }

    nonisolated func deliver(_ delivery: Delivery) {
        inlet.yield(delivery)
        if case .ended = delivery { inlet.finish() }
    }

    func waitForHead() async throws {
        while head.status == 0 {
            guard try await receive() else { throw ended }
        }
    }

    /// The next item of any kind. Throws ``Ended`` when none comes.
    func nextItem() async throws -> EventParser.Item {
        while taken == items.count {
            guard try await receive() else { throw ended }
        }
        taken += 1
        return items[taken - 1]
    }

    /// The next dispatched event; comments, retries and blocks without data are skipped.
    func next() async throws -> Event {
        while true {
            if case .event(let event) = try await nextItem() { return event }
        }
    }

    func next(_ count: Int) async throws -> [Event] {
        var events: [Event] = []
        while events.count < count { events.append(try await next()) }
        return events
    }

    /// Reads to the stream's end and returns the remaining events.
    func rest() async throws -> [Event] {
        while try await receive() {}
        return items[taken...].compactMap {
            if case .event(let event) = $0 { event } else { nil }
        }
    }

    /// Every item so far, read or not.
    var allItems: [EventParser.Item] { items }

    /// The last event id, as EventSource would send it on reconnecting.
    var lastID: String { parser.lastID }

    /// Whether the stream ended between two blocks.
    var endedCleanly: Bool {
        if case .success? = ending { parser.unfinishedBytes == 0 } else { false }
    }

    /// For a response that is not a stream: the whole response.
    func response() async -> Response {
        while (try? await receive()) == true {}
        return Response(head: head, body: bytes)
    }

    /// Closes the connection from this side.
    func close() {
        loop.cancel(number)
    }

    private var ended: Ended {
        var failure: CurlFailure?
        if case .failure(let reason)? = ending { failure = reason }
        return Ended(failure: failure, lastID: parser.lastID)
    }

    /// Waits for more. False at the end.
    private func receive() async throws -> Bool {
        guard ending == nil else { return false }
        // A copy, because an actor's property can't be changed across an await. The copies share
        // the stream, and there is no other waiter: a test reads a stream from one task.
        var iterator = iterator
        let delivery = await iterator.next(isolation: self)
        self.iterator = iterator
        try Task.checkCancellation()
        switch delivery {
        case .head(let head): self.head = head
        case .bytes(let bytes):
            self.bytes += bytes
            items += parser.parse(bytes)
        case .ended(let failure): ending = failure.map { .failure($0) } ?? .success(())
        case nil: ending = ending ?? .success(())
        }
        return ending == nil
    }
}
