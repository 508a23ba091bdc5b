internal import Reactors

/// The actions of a Cycler that wait for something, as tasks.
///
/// The owner cancels the tasks that it removes: a cancellation handler is user code, and must not
/// run while this value is being changed.
struct WaitingActions {
    private struct Waiting {
        let task: Task<Void, Never>
        /// The step of the action's beginning, or of its last decision. The action does not
        /// continue before it is committed.
        weak var step: Step?
        /// Milliseconds since 1970 (UTC).
        let since: Int64
    }

    private var running: [ActionTag: Waiting] = [:]
    /// Actions that were rolled back and have not ended. All decisions that they make when they
    /// continue are rolled back, too.
    private var muted: Set<ActionTag> = []

    /// The number of tasks. A muted one that ignores its cancellation is still a task.
    var count: Int { running.count + muted.count }

    /// Whether no action is running. Muted ones do not count.
    var isQuiet: Bool { running.isEmpty }

    func isRunning(_ action: ActionTag) -> Bool { running[action] != nil }

    func isMuted(_ action: ActionTag) -> Bool { muted.contains(action) }

    func step(of action: ActionTag) -> Step? { running[action]?.step }

    /// The running actions and the times at which they began, the oldest first.
    var starts: [(action: ActionTag, since: Int64)] {
        running.map { ($0.key, $0.value.since) }.sorted { $0.action.number < $1.action.number }
    }

    /// - Parameter time: the present one, in milliseconds since 1970 (UTC).
    mutating func add(
        _ action: ActionTag, _ task: Task<Void, Never>, step: Step?, at time: Int64
    ) {
        running[action] = Waiting(task: task, step: step, since: time)
    }

    /// The action has decided something in this step.
    mutating func setStep(_ step: Step?, of action: ActionTag) { running[action]?.step = step }

    @discardableResult
    mutating func remove(_ action: ActionTag) -> Task<Void, Never>? {
        running.removeValue(forKey: action)?.task
    }

    mutating func mute(_ action: ActionTag) { muted.insert(action) }

    /// A muted action has ended.
    mutating func removeMuted(_ action: ActionTag) { muted.remove(action) }

    /// Removes the running actions, oldest first.
    mutating func removeAll() -> [(action: ActionTag, task: Task<Void, Never>)] {
        defer { running = [:] }
        return running.map { ($0.key, $0.value.task) }.sorted {
            $0.action.number < $1.action.number
        }
    }
}
