internal import ClientMachine
internal import Reactors
internal import Synchronization

// Design: the machine decides under a lock, on whatever thread calls; one task carries its outputs out,
// in its order. So a send returns its ticket at once, and a slow `reduce` of the program holds up
// neither the transport's thread nor the caller. Changes are handed to the outbox in order, and a
// request is an output of the input that reports its change durable, so it cannot leave before.

/// Runs a ``ClientMachine``: between the program, an outbox and a transport.
final class ClientDriver: Sendable {
    let clock = DriverClock()
    let server: ServerAddress
    let limits: ClientLimits
    let credentials: CredentialSource?
    let transport: any ClientTransport
    let desk: Mutex<DriverDesk>
    let outbox: any OutboxStore
    private let signals: AsyncStream<Void>.Continuation
    private let timer: DriverTimer
    private let runner = Mutex<Task<Void, Never>?>(nil)

    /// - Throws: if the outbox cannot be opened.
    init(
        _ server: ServerAddress, _ configuration: ClientConfiguration,
        transport: any ClientTransport, outbox: any OutboxStore
    ) throws(ClientFailure) {
        self.server = server
        self.transport = transport
        self.outbox = outbox
        limits = configuration.limits
        let relay = DriverRelay()
        let saved: SavedOutbox
        do throws(OutboxUnavailable) {
            saved = try outbox.open { relay.report($0) }
        } catch {
            throw .outboxUnavailable(error.description)
        }
        desk = Mutex(
            DriverDesk(
                ClientMachine(
                    server: server, outbox: saved.outbox,
                    asksForCredentials: configuration.credential != nil,
                    keepsStates: outbox.keepsStates, limits: limits,
                    using: SystemRandomNumberGenerator()), savedStates: saved.states))
        let (stream, signals) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.signals = signals
        timer = DriverTimer(clock) { relay.timer() }
        credentials = configuration.credential.map(CredentialSource.init)
        relay.driver.withLock { $0.driver = self }
        runner.withLock { $0 = Task { await self.run(stream) } }
        // The sends of an earlier life of the program continue.
        post(.timer)
    }

    /// Notes what has happened.
    func post(_ input: Input) {
        desk.withLock { $0.post(input) }
        signals.yield()
    }

    /// Has the task look for work.
    func signal() { signals.yield() }

    /// Ends the task. Does not wait.
    func beginClosing() {
        desk.withLock { $0.isClosing = true }
        signals.yield()
    }

    /// Ends the task, and returns when everything that is under way has ended.
    func close() async {
        beginClosing()
        await runner.withLock(\.self)?.value
    }

    /// Returns when what is decided until now is shown to the sessions' readers.
    func catchUp() async {
        await withCheckedContinuation { continuation in
            if !desk.withLock({ $0.wait(continuation) }) { continuation.resume() }
        }
    }

    // MARK: The task

    private func run(_ signals: AsyncStream<Void>) async {
        for await _ in signals {
            await performRounds()
            if desk.withLock(\.isClosing) { break }
        }
        // Sends from before the end are saved.
        await performRounds()
        await shutDown()
    }

    private func performRounds() async {
        while let round = desk.withLock({ $0.nextRound(at: clock.now) }) {
            await perform(round.outputs)
            for caller in round.callers { caller.resume() }
            for handle in desk.withLock({ $0.finishRound(round.bytes) }) { handle.resume() }
        }
    }

    private func perform(_ decisions: [DriverDesk.Decision]) async {
        let isClosing = desk.withLock(\.isClosing)
        var news = SessionNews()
        for decision in decisions {
            switch decision.output {
            case .persist(let number, let changes): outbox.write(number, changes)
            case .deliver(let session, let delivery):
                if !news.isFor(session, decision.sink) {
                    await deliver(news.dequeue(for: session, decision.sink))
                }
                news.deliveries.append(delivery)
            case .deliverLog(let id, let delivery): deliver(delivery, to: id)
            case .keepState(let session, let position):
                await deliver(news.dequeue(for: session, decision.sink))
                keepState(of: session, decision.sink, at: position)
            case .cancelRequest(let id), .closeStream(let id): cancel(.attempt(id))
            case .request, .openStream, .askForCredential, .wakeMe:
                if !isClosing { begin(decision.output) }
            }
        }
        await deliver(news)
    }

    private func begin(_ output: Output) {
        switch output {
        case .request(let id, let request): send(request, id)
        case .openStream(let id, let request):
            start(.attempt(id), request, isStream: true, StreamReceiver(id, self))
        case .askForCredential(let id, let refused):
            credentials?.ask(id, refused: refused, clock: clock) { [weak self] in self?.post($0) }
        case .wakeMe(let time): timer.set(time)
        case .persist, .deliver, .deliverLog, .keepState, .cancelRequest, .closeStream: break
        }
    }

    private func send(_ request: ClientRequest, _ id: AttemptID) {
        let receiver = ResponseReceiver(limit: limits.eventBytes) { [self] in
            cancel(.attempt(id))
        } finish: { [self] result in
            switch result {
            case .success(let response): post(.answered(id, response))
            case .failure(let failure): post(.requestFailed(id, failure.message))
            }
            ended(.attempt(id))
        }
        start(.attempt(id), request, isStream: false, receiver)
    }

    /// Shows a session's news to its readers, and then reports the ends of sends: the state that their
    /// callers read contains them (R6).
    private func deliver(_ news: SessionNews) async {
        guard let session = news.session, !news.deliveries.isEmpty else { return }
        if outbox.keepsStates { remember(news.deliveries, of: session, news.sink) }
        await news.sink?.receive(news.deliveries)
        for case .outcome(let number, let outcome) in news.deliveries {
            report(outcome, of: number, in: session)
        }
    }

    // MARK: The end

    private func shutDown() async {
        timer.cancel()
        credentials?.cancelAll()
        let handles = desk.withLock { Array($0.handles.keys) }
        for carried in handles { cancel(carried) }
        await withCheckedContinuation { continuation in
            let isIdle = desk.withLock { desk in
                if !desk.handles.isEmpty { desk.whenIdle = continuation }
                return desk.handles.isEmpty
            }
            if isIdle { continuation.resume() }
        }
        await outbox.close()
        let (sessions, tickets, readers) = desk.withLock { desk in
            defer { (desk.sessions, desk.tickets, desk.refusalReaders) = ([:], [:], []) }
            return (
                desk.sessions.values.map(\.sink), desk.tickets.values.map(\.self),
                desk.refusalReaders
            )
        }
        for session in sessions { await session.finish() }
        for log in desk.withLock({ $0.takeLogs() }) { log.finish() }
        for ticket in tickets { ticket.report(.failed(.closed)) }
        for reader in readers { reader.finish() }
    }
}

/// Consecutive news of one session, for one typed part.
private struct SessionNews {
    var session: SessionName?
    var sink: (any SessionSink)?
    var deliveries: [Delivery] = []

    func isFor(_ other: SessionName, _ otherSink: (any SessionSink)?) -> Bool {
        session == other && sink === otherSink
    }

    /// Returns the news, and begins with those of another session or part.
    mutating func dequeue(for next: SessionName, _ nextSink: (any SessionSink)?) -> SessionNews {
        defer { self = SessionNews(session: next, sink: nextSink) }
        return self
    }
}

/// How an outbox and a timer reach the driver, which they must not keep alive.
private final class DriverRelay: Sendable {
    let driver = Mutex(WeakDriver())

    func report(_ report: OutboxReport) {
        switch report {
        case .durable(let number): target?.post(.persisted(number))
        case .failed(let failure): target?.post(.persistFailed(failure.description))
        }
    }

    func timer() { target?.post(.timer) }

    private var target: ClientDriver? { driver.withLock(\.driver) }
}

private struct WeakDriver {
    weak var driver: ClientDriver?
}
