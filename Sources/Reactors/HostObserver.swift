/// The observer of a host's core: its readers, and the work to do after the turn.
///
/// Owned by one host and used only in its isolation.
final class HostObserver<R: Reactor>: ReactorCoreObserver {
    // A reader of a value derived from the state: `receive` returns whether it continues.
    struct StateReader {
        enum Cause { case change, uncovering }

        let receive: (R.State, Cause) -> Bool
        let finish: () -> Void
    }

    private var stateReaders: [UInt64: StateReader] = [:]
    private var activityReaders: [UInt64: ReactorStream<R.Activity>.Feed] = [:]
    private var failureReaders: [UInt64: ReactorStream<ReactorFailure>.Feed] = [:]
    private var lastReader: UInt64 = 0
    private let log: ActionLogState<R>
    private var counter = ActionLogCounter()

    // Invariant: `isRead` is `log.isRead`; `isWatched` is that or a reader of states;
    // `hasDecisions` means that `started` or `cancelled` is not empty. Separate flags, because the
    // optimiser does not know the reactor's type here, and each access to a collection costs a
    // look-up of its type: together half of the time of an action.
    private var isRead: Bool
    private var isWatched: Bool
    private(set) var hasDecisions = false

    // The steps to start and to cancel: decided in a turn, carried out after it.
    private(set) var started: [EffectRun<R>] = []
    private(set) var cancelled: [RunID] = []

    private(set) var timers: HostTimers<R>
    // Whether the timer that is due next may have changed.
    private(set) var hasOtherTimers = false

    // An action whose effect may refuse it: where the session was before, and the reports that wait
    // for the readers. Readers must not see anything that is rolled back. There are at most as many
    // reports as the effect has steps.
    private struct Attempt {
        let state: R.State
        let version: UInt64
        let counter: ActionLogCounter
        let started: Int
        let cancelled: Int
        let timers: HostTimers<R>
        var reports: [() -> Void] = []
    }

    // Invariant: `isHolding` is true if there is an attempt. Separate for the same reason as above.
    private var isHolding = false
    private var attempt: Attempt?

    // The action that is being received, and the error of a hook or of its synchronous part.
    private var received = ActionTag.none
    private(set) var failure: String?

    init(
        now: @escaping @Sendable () -> Duration, timers: HostTimers<R>,
        follower: (any SessionFollower<R>)?
    ) {
        self.timers = timers
        log = ActionLogState(now: now, follower: follower)
        isRead = follower != nil
        isWatched = isRead
    }

    func add(_ reader: StateReader) -> UInt64 {
        stateReaders[nextReader()] = reader
        isWatched = true
        return lastReader
    }

    func add(_ reader: ReactorStream<R.Activity>.Feed) -> UInt64 {
        activityReaders[nextReader()] = reader
        return lastReader
    }

    func add(_ reader: ReactorStream<ReactorFailure>.Feed) -> UInt64 {
        failureReaders[nextReader()] = reader
        return lastReader
    }

    func add(_ reader: ActionLogState<R>.Reader) -> UInt64 {
        log.add(reader, as: nextReader())
        updateReaderFlags()
        return lastReader
    }

    private func nextReader() -> UInt64 {
        lastReader += 1
        return lastReader
    }

    func remove(_ reader: UInt64) {
        stateReaders[reader] = nil
        activityReaders[reader] = nil
        failureReaders[reader] = nil
        log.remove(reader)
        updateReaderFlags()
    }

    /// Ends a reader of the log, which keeps the entries that it has received.
    func finish(_ reader: UInt64) {
        log.finish(reader)
        updateReaderFlags()
    }

    private func updateReaderFlags() {
        isRead = log.isRead
        isWatched = isRead || !stateReaders.isEmpty
    }

    var readerCount: Int {
        stateReaders.count + activityReaders.count + failureReaders.count + log.readerCount
    }

    func finishAll() {
        for reader in stateReaders.values { reader.finish() }
        for reader in activityReaders.values { reader.finish() }
        for reader in failureReaders.values { reader.finish() }
        stateReaders = [:]
        activityReaders = [:]
        failureReaders = [:]
        log.finishAll()
        updateReaderFlags()
    }

    func forgetDecisions() {
        started.removeAll(keepingCapacity: true)
        cancelled.removeAll(keepingCapacity: true)
        hasOtherTimers = false
        hasDecisions = false
    }

    // MARK: Actions

    /// Passes an action to the core. A refused one leaves no trace.
    func receive(
        _ action: R.Action, _ tag: ActionTag, by subject: String? = nil, _ core: ReactorCore<R>
    ) -> Disposition {
        (received, failure) = (tag, nil)
        defer { received = .none }
        let answer = core.receive(action, tag: tag, subject: subject, observer: self)
        guard isHolding, let attempt else { return answer }
        isHolding = false
        self.attempt = nil
        guard case .refused = answer else {
            core.endAttempt()
            for report in attempt.reports { report() }
            return answer
        }
        core.takeBack(state: attempt.state, version: attempt.version)
        counter = attempt.counter
        started.removeLast(started.count - attempt.started)
        cancelled.removeLast(cancelled.count - attempt.cancelled)
        timers = attempt.timers
        return answer
    }

    func mayRefuse(core: ReactorCore<R>) {
        _ = core.beginAttempt()
        attempt = Attempt(
            state: core.state, version: core.version, counter: counter, started: started.count,
            cancelled: cancelled.count, timers: timers)
        isHolding = true
    }

    // Inlined, so that only a report that is held back needs a closure.
    @inline(__always)
    private func deliver(_ report: @escaping () -> Void) {
        if isHolding { attempt?.reports.append(report) } else { report() }
    }

    // MARK: Decisions of the core

    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        guard isWatched else { return counter.countRecord() }
        report(mutation, by: action, core)
    }

    // Not inlined, here and below: a function allocates the space for values of unknown size, with
    // look-ups, when it begins, even if the space is not used.
    @inline(never)
    private func report(_ mutation: R.Mutation, by action: ActionTag, _ core: ReactorCore<R>) {
        // Read first, because a failing `transform(state:)` is a record too.
        let state = show(core, because: .change)
        record(.mutation(mutation, version: core.version), by: action, state)
    }

    // Why the check: the shown state is a copy, and a later change in place would copy an array.
    private func show(
        _ core: ReactorCore<R>, because cause: StateReader.Cause
    ) -> R.State? {
        guard !stateReaders.isEmpty || log.wantsStates else { return nil }
        let state = core.visibleState(observer: self)
        deliver { [self] in
            for (reader, entry) in stateReaders where !entry.receive(state, cause) {
                stateReaders[reader] = nil
            }
        }
        return state
    }

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {
        deliver { [self] in
            for (reader, feed) in activityReaders where !feed.push(activity) {
                activityReaders[reader] = nil
            }
        }
        record(.activity(activity), by: action)
    }

    func failed(_ failure: ReactorFailure) {
        if self.failure == nil, failure.isOfSynchronousPart(of: received) {
            self.failure = String(describing: failure.error)
        }
        counter.countRecord()
        let position = counter.position
        deliver { [self] in
            for (reader, feed) in failureReaders where !feed.push(failure) {
                failureReaders[reader] = nil
            }
            if isRead { log.deliver(failure, at: position) }
        }
    }

    func start(_ run: EffectRun<R>) {
        started.append(run)
        hasDecisions = true
        recordNote(.effectStarted(.init(number: run.id.number, id: run.effectID)), by: run.action)
    }

    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {
        cancelled.append(run)
        hasDecisions = true
        recordNote(.effectCancelled(.init(number: run.number, id: effectID)), by: action)
    }

    func settled(_ action: ActionTag) {}

    /// Receives an action again after its effects have failed. A refusal becomes a failure, because
    /// no caller waits for it.
    func receiveAgain(_ again: Repetition<R>, _ core: ReactorCore<R>) {
        if case .refused = receive(again.action, again.tag, by: again.subject, core),
            let refusal = core.takeRefusal()
        {
            failed(ReactorFailure(place: .effect, error: refusal, action: again.tag))
        }
        core.endRepetition(again.tag, observer: self)
    }

    // MARK: Timers

    func schedule(
        _ action: R.Action, as name: EffectID, _ time: TimerTime, by tag: ActionTag
    ) -> (any Error)? {
        guard timers.set(name, time, action, by: tag) else { return EffectLimitReached.timers }
        changeTimers()
        recordNote(.timerSet(name), by: tag)
        return nil
    }

    func cancelTimer(_ name: EffectID, by action: ActionTag) {
        guard timers.remove(name) else { return }
        changeTimers()
        recordNote(.timerCancelled(name), by: action)
    }

    /// Removes the timer of this name if it is due; otherwise returns nil.
    func takeTimer(_ name: EffectID) -> HostTimers<R>.Timer? {
        guard let timer = timers.dequeue(name) else { return nil }
        changeTimers()
        recordNote(.timerFired(name), by: timer.setter)
        return timer
    }

    func removeTimers() {
        timers.removeAll()
        changeTimers()
    }

    private func changeTimers() { (hasOtherTimers, hasDecisions) = (true, true) }

    // MARK: For the action log alone

    func accepted(_ action: R.Action, as transformed: R.Action, tag: ActionTag) {
        counter.countNote()
        if isRead { report(action, as: transformed, tag) }
    }

    @inline(never)
    private func report(_ action: R.Action, as transformed: R.Action, _ tag: ActionTag) {
        enter(.received(action, transformed: transformed), by: tag)
    }

    func rejected(_ action: R.Action, tag: ActionTag) { recordNote(.rejected(action), by: tag) }

    func ended(_ run: RunID, named effectID: EffectID?, action: ActionTag, hasFailed: Bool) {
        // A failed step has an entry already.
        guard !hasFailed else { return }
        recordNote(.effectEnded(.init(number: run.number, id: effectID)), by: action)
    }

    func sourceEnded(_ name: String) { recordNote(.sourceEnded(name), by: .none) }

    func dropped(_ mutation: R.Mutation, by action: ActionTag, because reason: DropReason) {
        recordNote(.droppedMutation(mutation, reason), by: action)
    }

    func dropped(_ activity: R.Activity, by action: ActionTag) {
        recordNote(.droppedActivity(activity), by: action)
    }

    func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason) {
        recordNote(.effectSkipped(effectID, reason), by: action)
    }

    private func record(
        _ event: ActionLogEntry<R>.Event, by action: ActionTag, _ state: R.State? = nil
    ) {
        counter.countRecord()
        if isRead { enter(event, by: action, state) }
    }

    private func recordNote(_ event: ActionLogEntry<R>.Event, by action: ActionTag) {
        counter.countNote()
        if isRead { enter(event, by: action) }
    }

    private func enter(
        _ event: ActionLogEntry<R>.Event, by action: ActionTag, _ state: R.State? = nil
    ) {
        let position = counter.position
        deliver { [log] in log.deliver(event, at: position, of: action, state) }
    }

    // MARK: A stub

    func recorded(_ action: R.Action, tag: ActionTag) { recordNote(.recorded(action), by: tag) }

    func injected(core: ReactorCore<R>) {
        let state = show(core, because: .change)
        record(.replaced(version: core.version), by: .none, state)
    }

    func uncovered(core: ReactorCore<R>) {
        let state = show(core, because: .uncovering)
        record(.replaced(version: core.version), by: .none, state)
    }

    deinit { finishAll() }
}
