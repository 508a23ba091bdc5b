import Synchronization

/// What a loop is to a table in a test: the task of the test, on whatever thread it is.
final class TestSeat: Sendable {
    private let task = unsafe withUnsafeCurrentTask { unsafe $0?.hashValue }
    private let counter = Atomic<Int>(0)

    /// How often somebody wanted to know.
    var checks: Int { counter.load(ordering: .relaxed) }

    func check() {
        counter.add(1, ordering: .relaxed)
        let present = unsafe withUnsafeCurrentTask { unsafe $0?.hashValue }
        precondition(present == task, "sessions belong to the task of their test")
    }
}
