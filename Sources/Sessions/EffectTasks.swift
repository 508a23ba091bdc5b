internal import Reactors

/// The tasks that run beside a session: steps of effects, and readers of sources.
///
/// Invariant: all of them belong to the session's present stay in memory. What leaves this value is
/// cancelled by its owner: a cancellation handler is user code, which must not run while the value is
/// being changed.
struct EffectTasks {
    private var steps: [RunID: Task<Void, Never>] = [:]
    private var sources: [Task<Void, Never>] = []
    /// How many of `sources` have not ended.
    private var listening = 0
    /// Sources that listen, and are read once the session's creation is committed. Letting go of them
    /// ends the listening.
    private var opened: [SourceLaunch] = []

    /// Nothing is brought in from outside any more.
    var isIdle: Bool { steps.isEmpty && !isListening }

    var isListening: Bool { listening > 0 }

    // MARK: Steps of effects

    mutating func add(_ task: Task<Void, Never>, for run: RunID) { steps[run] = task }

    /// The step has ended, or is to be cancelled.
    @discardableResult
    mutating func remove(_ run: RunID) -> Task<Void, Never>? { steps.removeValue(forKey: run) }

    mutating func removeSteps() -> EffectTasks {
        var removed = EffectTasks()
        swap(&removed.steps, &steps)
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

    /// One source has ended.
    mutating func endSource() { listening -= 1 }

    // MARK: The end

    mutating func removeAll() -> EffectTasks {
        defer { self = EffectTasks() }
        return self
    }

    func cancel() {
        for task in steps.values { task.cancel() }
        for task in sources { task.cancel() }
    }
}
