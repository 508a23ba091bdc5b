internal import DequeModule

/// Work that can wait for a moment, some in each round of the loop, so that what else there is to
/// do comes in between.
final class LoopTurns {
    private var waiting: Deque<() -> Void> = []
    private var ends: [() -> Void] = []
    private var isScheduled = false
    private let schedule: () -> Void

    /// A turn sends a slice of 64 KiB: a fifth of a millisecond for all of them.
    private static let limit = 4

    /// - Parameter schedule: sees to it that ``run()`` is called, in a later round.
    init(_ schedule: @escaping () -> Void) { self.schedule = schedule }

    func take(_ act: @escaping () -> Void) {
        waiting.append(act)
        guard !isScheduled else { return }
        isScheduled = true
        schedule()
    }

    /// Calls `act` once nothing waits.
    ///
    /// - Precondition: something does.
    func atRest(_ act: @escaping () -> Void) { ends.append(act) }

    func run() {
        for _ in 0..<min(Self.limit, waiting.count) {
            guard let act = waiting.popFirst() else { break }
            act()
        }
        isScheduled = !waiting.isEmpty
        guard !isScheduled else { return schedule() }
        for end in ends { end() }
        ends = []
    }

    /// The loop has stopped.
    func forgetAll() {
        waiting = []
        ends = []
    }
}
