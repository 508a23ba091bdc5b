// Design: an actor around a `ReactorCore`. One call is one turn: the actions of all senders are
// applied completely, one after the other, and an action that a reader sends in response to an
// event follows the turn of that event. Effects and sources are tasks that hold the host weakly.

/// Runs one session of a reactor in this process.
///
/// ```swift
/// let host = ReactorHost(AlertReactor())
/// let alerts = await host.pulse(\.$alertMessage)
/// await host.send(.alert("Hello"))
/// for try await message in alerts { … }
/// ```
///
/// When the host is released, or at ``end()``, its effects and sources are cancelled and its
/// streams end. None of them keeps it alive.
public actor ReactorHost<R: Reactor> {
    let core: ReactorCore<R>
    let observer: HostObserver<R>
    let clock: any Clock<Duration>
    let tasks = TaskBag()
    /// The first part of ``Sink/key``, in place of a session's id and generation.
    private let name: String
    var lastTag: UInt64 = 0
    private var openSources: Int

    // Callers that wait for the running steps to end: an empty stream ends with its task.
    private var waiting: [AsyncStream<Never>.Continuation] = []

    /// Reads the initial state, applies the sources' present values, and starts the sources.
    ///
    /// - Parameters:
    ///   - reactor: the session's own instance.
    ///   - clock: the ``Sink/clock`` of effects. Default: the system's continuous clock.
    ///   - topics: the bus of the reactor's topics. Default: a new bus without publishers.
    ///   - now: the time since 1970, for entries of the action log and for timers at a date.
    ///     Default: entries have the age of the session, by `clock`. For timers at a date, the
    ///     default is the system's time when the session began, plus that age.
    public init(
        _ reactor: sending R, clock: any Clock<Duration> = ContinuousClock(),
        topics: TopicBus = TopicBus(), now: (@Sendable () -> Duration)? = nil
    ) {
        self.init(reactor, clock: clock, topics: topics, now: now, follower: nil)
    }

    /// Starts a session with a follower from the first event on.
    package init(
        _ reactor: sending R, clock: any Clock<Duration>, topics: TopicBus,
        now: (@Sendable () -> Duration)?, follower: (any SessionFollower<R>)?
    ) {
        let core = ReactorCore(reactor: reactor)
        let sources = core.makeSources()
        let elapsed = Self.timeSinceNow(by: clock)
        observer = HostObserver(
            now: now ?? elapsed,
            timers: HostTimers(elapsed: elapsed, date: now ?? Self.date(movingWith: elapsed)),
            follower: follower)
        openSources = sources.count
        follower?.began(with: core.visibleState(observer: observer))
        let openings = sources.map { $0.open(topics) }
        for (source, opening) in zip(sources, openings) {
            guard let present = opening.present else { continue }
            Self.receive(present, of: source, &lastTag, core, observer)
        }
        if core.endsItself {
            core.end(observer: observer)
            observer.removeTimers()
        }
        let (started, cancelled) = (observer.started, observer.cancelled)
        let nextTimer = observer.timers.all.first?.due
        observer.forgetDecisions()
        self.core = core
        self.clock = clock
        name = "local." + String(UInt64.random(in: .min ... .max), radix: 36)
        guard !core.isEnded else {
            openSources = 0
            observer.finishAll()
            return
        }
        for run in started { start(run) }
        for run in cancelled { tasks.cancel(.run(run)) }
        if let nextTimer { wait(for: nextTimer, elapsed) }
        let tasks = tasks
        for (index, (source, opening)) in zip(sources, openings).enumerated() {
            let task = Task { @concurrent [weak self] in
                var failure: (any Error)?
                do {
                    try await opening.read(nil, nil) { [weak self] element, _ in
                        // Without a history each element can be received.
                        guard case .success(let element)? = element else { return true }
                        return await self?.receive(element, of: source) ?? false
                    }
                } catch {
                    failure = error
                }
                await self?.ended(source, index, failure)
            }
            tasks.add(task, as: .source(index))
        }
    }

    private static func receive(
        _ element: R.Source.Element, of source: R.Source, _ lastTag: inout UInt64,
        _ core: ReactorCore<R>, _ observer: HostObserver<R>
    ) {
        switch element {
        case .action(let action):
            let result = receive(action, by: nil, &lastTag, core, observer)
            guard let refusal = result.refusal else { return }
            observer.failed(
                ReactorFailure(
                    place: .source, error: refusal, action: .none, source: source.name))
        case .mutation(let mutation):
            core.receive(fromSource: mutation, observer: observer)
        }
    }

    static func receive(
        _ action: R.Action, by subject: String?, _ lastTag: inout UInt64, _ core: ReactorCore<R>,
        _ observer: HostObserver<R>
    ) -> SendResult {
        lastTag += 1
        switch observer.receive(action, ActionTag(lastTag), by: subject, core) {
        case .accepted(let version, _):
            return SendResult(accepted: true, version: version, failure: observer.failure)
        case .rejected:
            return SendResult(accepted: false, version: core.version, failure: observer.failure)
        case .refused:
            lastTag -= 1
            return SendResult(
                accepted: false, version: core.version, refusal: core.takeRefusal())
        case .ended: return SendResult(accepted: false, version: core.version)
        }
    }

    /// The shown state, decorated by the reactor's `transform(state:)`.
    public var currentState: R.State { core.visibleState(observer: observer) }

    /// The number of mutations since the initial state.
    public var version: UInt64 { core.version }

    /// Sends an action and returns when the synchronous part of its effect is applied.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - subject: The client that has sent it, for the reactor. Default: none.
    @discardableResult
    public func send(_ action: R.Action, subject: String? = nil) -> SendResult {
        sendNumbered(action, subject: subject).result
    }

    /// Like ``send(_:subject:)``; also returns the action's number.
    package func sendNumbered(
        _ action: R.Action, subject: String? = nil
    ) -> (result: SendResult, number: UInt64) {
        let number = lastTag + 1
        let result = Self.receive(action, by: subject, &lastTag, core, observer)
        carryOut()
        return (result, number)
    }

    package var runningCount: (steps: Int, sources: Int) { (core.runningCount, openSources) }

    /// Returns when no asynchronous step is running, or when the calling task is cancelled.
    ///
    /// Sources do not count. With an endless effect it waits for the end of the host.
    public func settled() async {
        guard core.runningCount > 0 else { return }
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        waiting.append(continuation)
        for await _ in stream {}
    }

    /// Ends the session: effects and sources are cancelled, streams end, actions are refused.
    ///
    /// The state can still be read. A second call changes nothing.
    public func end() {
        core.end(observer: observer)
        observer.removeTimers()
        carryOut()
        tasks.cancelAll()
        observer.finishAll()
    }

    /// Whether the session has ended: by ``end()``, or by ``ReactorEffect/end``.
    public var isEnded: Bool { core.isEnded }

    /// The number of open streams.
    package var readerCount: Int { observer.readerCount }

    func forget(_ reader: UInt64) { observer.remove(reader) }

    private static func timeSinceNow(
        by clock: some Clock<Duration>
    ) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    // Carries out the decisions of a turn: starts and cancels tasks. Ends the session if an effect
    // has ended it.
    func carryOut() {
        guard !core.endsItself else { return end() }
        if observer.hasDecisions {
            let (started, cancelled) = (observer.started, observer.cancelled)
            let hasOtherTimers = observer.hasOtherTimers
            observer.forgetDecisions()
            if hasOtherTimers { waitForTimer() }
            if !core.isEnded { for run in started { start(run) } }
            for run in cancelled { tasks.cancel(.run(run)) }
        }
        if !waiting.isEmpty, core.runningCount == 0 {
            for waiter in waiting { waiter.finish() }
            waiting = []
        }
    }

    private nonisolated func start(_ run: EffectRun<R>) {
        let sink = Sink<R.Mutation, R.Activity>(
            clock: clock, step: StepName(session: name, action: run.action, step: run.step),
            send: { [weak self] in await self?.receive($0, from: run) ?? false },
            emit: { [weak self] in await self?.receive(activity: $0, from: run) ?? false })
        let task = Task { @concurrent [weak self] in
            var failure: (any Error)?
            do {
                try await run.work(sink)
            } catch {
                failure = error
            }
            await self?.ended(run, failure)
        }
        tasks.add(task, as: .run(run.id))
    }

    private func receive(_ mutation: R.Mutation, from run: EffectRun<R>) -> Bool {
        core.receive(mutation, from: run, observer: observer)
    }

    private func receive(activity: R.Activity, from run: EffectRun<R>) -> Bool {
        core.receive(activity: activity, from: run, observer: observer)
    }

    private func receive(_ element: R.Source.Element, of source: R.Source) -> Bool {
        Self.receive(element, of: source, &lastTag, core, observer)
        carryOut()
        return !core.isEnded
    }

    private func ended(_ run: EffectRun<R>, _ failure: (any Error)?) {
        tasks.remove(.run(run.id))
        if let again = core.ended(run, failure: failure, observer: observer) {
            observer.receiveAgain(again, core)
        }
        carryOut()
    }

    private func ended(_ source: R.Source, _ index: Int, _ failure: (any Error)?) {
        tasks.remove(.source(index))
        openSources -= 1
        core.ended(source: source, failure: failure, observer: observer)
    }
}
