internal import Reactors

/// The tasks of a session: steps of effects, and readers of sources.
///
/// Invariant: all tasks belong to the session's present incarnation. The caller that removes tasks
/// cancels them: a cancellation handler is user code, which must not run while this value is being
/// changed.
struct EffectTasks {
    /// Invariant: counts the `steps` of all sessions of the reactor.
    private let count: EffectTally.Count
    private var steps: [RunID: Task<Void, Never>] = [:]
    private var sources: [Task<Void, Never>] = []
    /// The number of `sources` that have not ended.
    private var listening = 0
    /// Sources that are subscribed, and are read once the session's creation is committed. Releasing a
    /// launch ends its subscription.
    private var opened: [SourceLaunch] = []

    init(_ count: EffectTally.Count) { self.count = count }

    /// Whether no task is left that may send something to the session.
    var isIdle: Bool { steps.isEmpty && !isListening }

    var isListening: Bool { listening > 0 }

    // MARK: Steps of effects

    mutating func add(_ task: Task<Void, Never>, for run: RunID) {
        if steps.updateValue(task, forKey: run) == nil { count.running += 1 }
    }

    /// Removes a step that has ended or is to be cancelled.
    @discardableResult
    mutating func remove(_ run: RunID) -> Task<Void, Never>? {
        guard let task = steps.removeValue(forKey: run) else { return nil }
        count.running -= 1
        return task
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

    mutating func read(_ tasks: [Task<Void, Never>]) {
        sources = tasks
        listening = tasks.count
    }

    /// Counts a source that has ended.
    mutating func endSource() { listening -= 1 }

    // MARK: The end

    mutating func removeAll() -> EffectTasks {
        count.running -= steps.count
        defer { self = EffectTasks(count) }
        return self
    }

    func cancel() {
        for task in steps.values { task.cancel() }
        for task in sources { task.cancel() }
    }
}
