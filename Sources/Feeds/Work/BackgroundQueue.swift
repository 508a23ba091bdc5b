internal import DequeModule

/// Low-priority work of one loop: a few items per loop iteration, so that it cannot starve other
/// requests.
package final class BackgroundQueue {
    private var waiting: Deque<() -> Void> = []
    private var completions: [() -> Void] = []
    private var isScheduled = false
    /// Whether the last pass had no room for an item: the next one runs at least one.
    private var wasPutOff = false
    private let pass: PassMeter
    private let schedule: () -> Void

    /// Items per iteration. Nearly all of them send a slice of 64 KiB: all take a fifth of a
    /// millisecond. Items that work on large states end the iteration earlier.
    private static let limit = 4

    package var count: Int { waiting.count }

    /// - Parameter schedule: makes a later iteration of the loop call ``run()``.
    package init(_ pass: PassMeter, _ schedule: @escaping () -> Void) {
        self.pass = pass
        self.schedule = schedule
    }

    package func append(_ work: @escaping () -> Void) {
        waiting.append(work)
        guard !isScheduled else { return }
        isScheduled = true
        schedule()
    }

    /// Calls `act` once the queue is empty.
    ///
    /// - Precondition: the queue is not empty.
    func whenEmpty(_ act: @escaping () -> Void) { completions.append(act) }

    package func run() {
        var left = min(Self.limit, waiting.count)
        if pass.isUsedUp, !wasPutOff {
            wasPutOff = true
        } else {
            wasPutOff = false
            repeat {
                guard let work = waiting.popFirst() else { break }
                work()
                left -= 1
            } while left > 0 && !pass.isUsedUp
        }
        isScheduled = !waiting.isEmpty
        guard !isScheduled else { return schedule() }
        for act in completions { act() }
        completions = []
    }

    /// Drops the work because the loop has stopped.
    package func removeAll() {
        waiting = []
        completions = []
    }
}
