/// What a host's core told: who reads what, and what is to be done when the turn is over.
///
/// Owned by one host and used inside it only.
final class HostObserver<R: Reactor>: ReactorCoreObserver {
    // A reader of something that follows from the state: `take` answers whether it goes on.
    struct StateReader {
        enum Cause { case change, uncovering }

        let take: (R.State, Cause) -> Bool
        let finish: () -> Void
    }

    private var stateReaders: [UInt64: StateReader] = [:]
    private var activityReaders: [UInt64: ReactorStream<R.Activity>.Feed] = [:]
    private var failureReaders: [UInt64: ReactorStream<ReactorFailure>.Feed] = [:]
    private var lastReader: UInt64 = 0
    var log: ActionLogBook<R>

    // Decided in a turn, done after it.
    private(set) var started: [EffectRun<R>] = []
    private(set) var cancelled: [RunID] = []

    init(now: @escaping @Sendable () -> Duration, follower: (any SessionFollower<R>)?) {
        log = ActionLogBook(now: now, follower: follower)
    }

    func add(_ reader: StateReader) -> UInt64 {
        stateReaders[nextReader()] = reader
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

    func add(_ reader: ActionLogBook<R>.Reader) -> UInt64 {
        log.add(reader, as: nextReader())
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
    }

    func forgetDecisions() {
        started.removeAll(keepingCapacity: true)
        cancelled.removeAll(keepingCapacity: true)
    }

    // MARK: What the core decides

    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        // Looked at first: a look that fails is a record of its own.
        let state = show(core, because: .change)
        log.record(action, .mutation(mutation, version: core.version), state)
    }

    // Why ask: the shown state is a copy, and a change in place after it copies an array.
    private func show(
        _ core: ReactorCore<R>, because cause: StateReader.Cause
    ) -> R.State? {
        guard !stateReaders.isEmpty || log.wantsStates else { return nil }
        let state = core.visibleState(observer: self)
        for (reader, entry) in stateReaders where !entry.take(state, cause) {
            stateReaders[reader] = nil
        }
        return state
    }

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {
        for (reader, feed) in activityReaders where !feed.push(activity) {
            activityReaders[reader] = nil
        }
        log.record(action, .activity(activity))
    }

    func failed(_ failure: ReactorFailure) {
        for (reader, feed) in failureReaders where !feed.push(failure) {
            failureReaders[reader] = nil
        }
        log.record(failure)
    }

    func start(_ run: EffectRun<R>) {
        started.append(run)
        log.note(run.action, .effectStarted(.init(number: run.id.number, id: run.effectID)))
    }

    func cancel(_ run: RunID, action: ActionTag) { cancelled.append(run) }

    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {
        cancel(run, action: action)
        log.note(action, .effectCancelled(.init(number: run.number, id: effectID)))
    }

    func settled(_ action: ActionTag) {}

    // MARK: For the action log alone

    func accepted(_ action: R.Action, as transformed: R.Action, tag: ActionTag) {
        log.note(tag, .received(action, transformed: transformed))
    }

    func rejected(_ action: R.Action, tag: ActionTag) { log.note(tag, .rejected(action)) }

    func ended(_ run: RunID, named effectID: EffectID?, action: ActionTag) {
        log.noteEnd(of: run, named: effectID, action)
    }

    func sourceEnded(_ name: String) { log.note(.none, .sourceEnded(name)) }

    func dropped(_ mutation: R.Mutation, by action: ActionTag, because reason: DropReason) {
        log.note(action, .droppedMutation(mutation, reason))
    }

    func dropped(_ activity: R.Activity, by action: ActionTag) {
        log.note(action, .droppedActivity(activity))
    }

    func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason) {
        log.note(action, .effectSkipped(effectID, reason))
    }

    // MARK: A stub

    func recorded(_ action: R.Action, tag: ActionTag) { log.note(tag, .recorded(action)) }

    func injected(core: ReactorCore<R>) {
        let state = show(core, because: .change)
        log.record(.none, .replaced(version: core.version), state)
    }

    func uncovered(core: ReactorCore<R>) {
        let state = show(core, because: .uncovering)
        log.record(.none, .replaced(version: core.version), state)
    }

    deinit { finishAll() }
}
