/// What a host's core told: who reads what, and what is to be done when the turn is over.
///
/// Owned by one host and used inside it only.
final class HostObserver<R: Reactor>: ReactorCoreObserver {
    // A reader of something that follows from the state: `take` answers whether it goes on.
    struct StateReader {
        let take: (R.State) -> Bool
        let finish: () -> Void
    }

    private var stateReaders: [UInt64: StateReader] = [:]
    private var activityReaders: [UInt64: ReactorStream<R.Activity>.Feed] = [:]
    private var failureReaders: [UInt64: ReactorStream<ReactorFailure>.Feed] = [:]
    private var lastReader: UInt64 = 0

    // Decided in a turn, done after it.
    private(set) var started: [EffectRun<R>] = []
    private(set) var cancelled: [RunID] = []

    func add(_ reader: StateReader) -> UInt64 {
        lastReader += 1
        stateReaders[lastReader] = reader
        return lastReader
    }

    func add(_ reader: ReactorStream<R.Activity>.Feed) -> UInt64 {
        lastReader += 1
        activityReaders[lastReader] = reader
        return lastReader
    }

    func add(_ reader: ReactorStream<ReactorFailure>.Feed) -> UInt64 {
        lastReader += 1
        failureReaders[lastReader] = reader
        return lastReader
    }

    func remove(_ reader: UInt64) {
        stateReaders[reader] = nil
        activityReaders[reader] = nil
        failureReaders[reader] = nil
    }

    var readerCount: Int { stateReaders.count + activityReaders.count + failureReaders.count }

    func finishAll() {
        for reader in stateReaders.values { reader.finish() }
        for reader in activityReaders.values { reader.finish() }
        for reader in failureReaders.values { reader.finish() }
        stateReaders = [:]
        activityReaders = [:]
        failureReaders = [:]
    }

    func forgetDecisions() {
        started.removeAll(keepingCapacity: true)
        cancelled.removeAll(keepingCapacity: true)
    }

    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        // Why ask: the shown state is a copy, and a change in place after it copies an array.
        guard !stateReaders.isEmpty else { return }
        let state = core.visibleState(observer: self)
        for (reader, entry) in stateReaders where !entry.take(state) {
            stateReaders[reader] = nil
        }
    }

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {
        for (reader, feed) in activityReaders where !feed.push(activity) {
            activityReaders[reader] = nil
        }
    }

    func failed(_ failure: ReactorFailure) {
        for (reader, feed) in failureReaders where !feed.push(failure) {
            failureReaders[reader] = nil
        }
    }

    func start(_ run: EffectRun<R>) { started.append(run) }

    func cancel(_ run: RunID, action: ActionTag) { cancelled.append(run) }

    func settled(_ action: ActionTag) {}

    deinit { finishAll() }
}
