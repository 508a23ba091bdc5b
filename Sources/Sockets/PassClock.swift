import Synchronization

/// When a loop's present pass began, for other threads. Stored twice a pass, without waiting.
package final class PassClock: Sendable {
    /// Nanoseconds of the monotonic clock; 0 while the loop waits for events.
    private let value = Atomic<Int64>(0)

    package init() {}

    /// The beginning of the present pass; nil while the loop waits for events.
    package var began: LoopInstant? {
        let nanoseconds = value.load(ordering: .relaxed)
        return nanoseconds == 0 ? nil : LoopInstant(nanoseconds: nanoseconds)
    }

    package func begin(_ instant: LoopInstant) {
        value.store(instant.nanoseconds, ordering: .relaxed)
    }

    package func end() { value.store(0, ordering: .relaxed) }
}
