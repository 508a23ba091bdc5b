internal import DequeModule

/// Low-priority work of one loop: a few items per loop iteration, so that it cannot starve other
/// requests.
final class BackgroundQueue {
    private var waiting: Deque<() -> Void> = []
    private var completions: [() -> Void] = []
    private var isScheduled = false
    private let schedule: () -> Void

    /// Items per iteration. An item sends a slice of 64 KiB: all of them take a fifth of a
    /// millisecond.
    private static let limit = 4

    var count: Int { waiting.count }

    /// - Parameter schedule: makes a later iteration of the loop call ``run()``.
    init(_ schedule: @escaping () -> Void) { self.schedule = schedule }

    func append(_ work: @escaping () -> Void) {
        waiting.append(work)
        guard !isScheduled else { return }
        isScheduled = true
        schedule()
    }

    /// Calls `act` once the queue is empty.
    ///
    /// - Precondition: the queue is not empty.
    func whenEmpty(_ act: @escaping () -> Void) { completions.append(act) }

    func run() {
        for _ in 0..<min(Self.limit, waiting.count) {
            guard let work = waiting.popFirst() else { break }
            work()
        }
        isScheduled = !waiting.isEmpty
        guard !isScheduled else { return schedule() }
        for act in completions { act() }
        completions = []
    }

    /// Drops the work because the loop has stopped.
    func removeAll() {
        waiting = []
        completions = []
    }
}
