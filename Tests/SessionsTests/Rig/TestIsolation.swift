import Synchronization

/// The loop of a table in a test: the task of the test, on any thread.
final class TestIsolation: Sendable {
    private let task = unsafe withUnsafeCurrentTask { unsafe $0?.hashValue }
    private let counter = Atomic<Int>(0)

    /// How often the isolation was checked.
    var checks: Int { counter.load(ordering: .relaxed) }

    func check() {
        counter.add(1, ordering: .relaxed)
        let present = unsafe withUnsafeCurrentTask { unsafe $0?.hashValue }
        precondition(present == task, "sessions belong to the task of their test")
    }
}
