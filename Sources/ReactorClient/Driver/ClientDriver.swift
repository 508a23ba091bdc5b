internal import ClientMachine
internal import Reactors
internal import Synchronization

// Design: the machine decides under a lock, on whatever thread calls. Its outputs go two ways, each
// in order. Operations (changes for the outbox, requests, the timer) run no code of the program's
// but a transport of its own: one thread at a time carries them out, usually the one whose input
// has led to them, so a request leaves without waking a thread. News run the program's code in one
// task, so that a slow `reduce` holds up neither the transport nor the caller. A request is an
// output of the input that reports its change durable, so it cannot leave before.

/// Runs a ``ClientMachine``: between the program, an outbox and a transport.
final class ClientDriver: Sendable {
    let clock = DriverClock()
    let server: ServerAddress
    let limits: ClientLimits
    let credentials: CredentialSource?
    let transport: any ClientTransport
    let core: Mutex<DriverCore>
    let outbox: any OutboxStore
    private let signals: AsyncStream<Void>.Continuation
    let timer: DriverTimer
    /// Whether the transport says when a round of its calls ends.
    private let hasRounds: Bool
    private let runner = Mutex<Task<Void, Never>?>(nil)

    init(
        _ server: ServerAddress, _ configuration: ClientConfiguration,
        transport: any ClientTransport, outbox: any OutboxStore
    ) throws(ClientFailure) {
        self.server = server
        self.transport = transport
        hasRounds = transport is any RoundTransport
        self.outbox = outbox
        limits = configuration.limits
        let relay = DriverRelay()
        let saved: SavedOutbox
        do throws(OutboxUnavailable) {
            saved = try outbox.open { relay.report($0) }
        } catch {
            throw .outboxUnavailable(error.description)
        }
        core = Mutex(
            DriverCore(
                ClientMachine(
                    server: server, outbox: saved.outbox,
                    asksForCredentials: configuration.credential != nil,
                    keepsStates: outbox.keepsStates, savesChanges: outbox.savesChanges,
                    presence: configuration.presence.machineValue, limits: limits,
                    using: SystemRandomNumberGenerator()),
                savedStates: saved.states))
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
        core.withLock { $0.post(input) }
        signal()
    }

    /// Notes what the transport has received.
    func arrived(_ input: Input) {
        core.withLock { $0.post(input) }
        arrived()
    }

    /// Has the task look for what has arrived; a transport that has rounds does so at their end.
    func arrived() { if !hasRounds { signal() } }

    /// Decides on what the transport has brought in a round, on its thread, and resumes the senders
    /// whose actions that confirms: they wait for no other thread than their own.
    func roundEnded() {
        // A state that is saved when its session is left must contain the sends that have returned:
        // with such an outbox they wait for their news.
        let ended = outbox.keepsStates ? [] : core.withLock { $0.decideEarly(at: clock.now) }
        for (ticket, receipt) in ended { ticket.report(.applied(Receipt(receipt))) }
        carryOut()
    }

    /// Has the machine decide at once, on this thread.
    func decide(_ input: Input) {
        core.withLock { core in
            if !core.isClosing { _ = core.decide(input, at: clock.now) }
        }
        carryOut()
    }

    /// Has the task look for work.
    func signal() { signals.yield() }

    /// Ends the task. Does not wait.
    func beginClosing() {
        core.withLock { $0.isClosing = true }
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
            guard core.withLock({ $0.wait(continuation) }) else { return continuation.resume() }
            signal()
        }
    }

    // MARK: The task

    private func run(_ signals: AsyncStream<Void>) async {
        for await _ in signals {
            await performRounds()
            if core.withLock({ $0.isClosing }) { break }
        }
        // Sends from before the end are saved.
        await performRounds()
        await shutDown()
    }

    private func performRounds() async {
        while true {
            let next = core.withLock { $0.nextRound(at: clock.now) }
            operate(rounds: .max)
            guard let round = next else { return }
            await perform(round.outputs)
            for caller in round.callers { caller.resume() }
            for handle in core.withLock({ $0.finishRound(round.bytes) }) { handle.resume() }
        }
    }

    private func perform(_ decisions: [DriverCore.Decision]) async {
        var news = SessionNews()
        for decision in decisions {
            switch decision.output {
            case .deliver(let session, let delivery):
                if !news.isFor(session, decision.sink) {
                    await deliver(news.dequeue(for: session, decision.sink))
                }
                news.deliveries.append(delivery)
            case .deliverLog(let id, let delivery): deliver(delivery, to: id)
            case .keepState(let session, let position):
                await deliver(news.dequeue(for: session, decision.sink))
                keepState(of: session, decision.sink, at: position)
            case .persist, .request, .cancelRequest, .openStream, .closeStream,
                .askForCredential, .wakeMe:
                // Invariant: the core has put these into the operations.
                break
            }
        }
        await deliver(news)
    }

    /// Shows a session's news to its readers, and then reports the ends of sends: the state that
    /// their callers read contains them (R6).
    private func deliver(_ news: SessionNews) async {
        guard let session = news.session, !news.deliveries.isEmpty else { return }
        let deliveries = news.deliveries.map(\.withTexts)
        if outbox.keepsStates { remember(deliveries, of: session, news.sink) }
        await news.sink?.receive(deliveries)
        for case .outcome(let number, let outcome) in deliveries {
            report(outcome, of: number, in: session)
        }
    }

    // MARK: The end

    private func shutDown() async {
        for carried in core.withLock({ Array($0.handles.keys) }) { cancel(carried) }
        await becomeIdle()
        timer.cancel()
        credentials?.cancelAll()
        await outbox.close()
        let (sessions, tickets, readers) = core.withLock { core in
            defer { (core.sessions, core.tickets, core.refusalReaders) = ([:], [:], []) }
            return (
                core.sessions.values.map(\.sink), core.tickets.values.map(\.self),
                core.refusalReaders
            )
        }
        for session in sessions { await session.finish() }
        for log in core.withLock({ $0.takeLogs() }) { log.finish() }
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
        case .durable(let number): target?.decide(.persisted(number))
        case .delayed(let wait, let failure):
            guard let target else { return }
            target.decide(
                .persistDelayed(until: target.clock.now.uptime + wait, failure.description))
        case .failed(let failure): target?.decide(.persistFailed(failure.description))
        }
    }

    func timer() { target?.post(.timer) }

    private var target: ClientDriver? { driver.withLock(\.driver) }
}

private struct WeakDriver {
    weak var driver: ClientDriver?
}
