internal import Reactors

/// The tasks of a session: steps of effects, and readers of sources.
///
/// Invariant: all tasks belong to the session's present incarnation. The caller that removes tasks
/// cancels them: a cancellation handler is user code, which must not run while this value is being
/// changed.
struct EffectTasks {
    /// Invariant: counts the `steps` of all sessions of the reactor.
    private let count: EffectTally.Count
    private var steps: [RunID: Running] = [:]
    private var sources: [Task<Void, Never>] = []
    /// The names of the `sources` that have not ended, in the order of their declaration.
    private(set) var listening: [String] = []
    /// Sources that are subscribed, and are read once the session's creation is committed.
    /// Releasing a launch ends its subscription.
    private var opened: [SourceLaunch] = []

    private struct Running {
        let task: Task<Void, Never>
        /// Milliseconds since 1970 (UTC).
        let since: Int64
    }

    init(_ count: EffectTally.Count) { self.count = count }

    /// Whether no task is left that may send something to the session.
    var isIdle: Bool { steps.isEmpty && !isListening }

    var isListening: Bool { !listening.isEmpty }

    /// Whether sources are read, or will be once the session's creation is committed.
    var listens: Bool { isListening || !opened.isEmpty }

    // MARK: Steps of effects

    /// - Parameter time: the present one, in milliseconds since 1970 (UTC).
    mutating func add(_ task: Task<Void, Never>, for run: RunID, at time: Int64) {
        let running = Running(task: task, since: time)
        if steps.updateValue(running, forKey: run) == nil { count.running += 1 }
    }

    /// The time at which the step's task began; nil if it has none: the step is not committed yet.
    func start(of run: RunID) -> Int64? { steps[run]?.since }

    /// Removes a step that has ended or is to be cancelled.
    @discardableResult
    mutating func remove(_ run: RunID) -> Task<Void, Never>? {
        guard let running = steps.removeValue(forKey: run) else { return nil }
        count.running -= 1
        return running.task
    }

    mutating func removeSteps() -> EffectTasks {
        var removed = EffectTasks(count)
        swap(&removed.steps, &steps)
        count.running -= removed.steps.count
        return removed
    }

    // MARK: Sources

    mutating func open(_ sources: [SourceLaunch]) { opened = sources }

    mutating func takeOpened() -> [SourceLaunch] {
        defer { opened = [] }
        return opened
    }

    mutating func read(_ tasks: [Task<Void, Never>], of names: [String]) {
        sources = tasks
        listening = names
    }

    /// Records that a source has ended. Sources may have the same name: then one of them.
    mutating func endSource(_ name: String) {
        if let index = listening.firstIndex(of: name) { listening.remove(at: index) }
    }

    // MARK: The end

    mutating func removeAll() -> EffectTasks {
        count.running -= steps.count
        defer { self = EffectTasks(count) }
        return self
    }

    func cancel() {
        for running in steps.values { running.task.cancel() }
        for task in sources { task.cancel() }
    }
}
