import Synchronization

/// The number of connections that a loop holds or is about to get; readable from any thread.
final class LoopLoad: Sendable {
    private let value = Atomic<Int>(0)

    var connections: Int { value.load(ordering: .relaxed) }

    func add(_ count: Int) { value.add(count, ordering: .relaxed) }

    func subtract(_ count: Int) { value.subtract(count, ordering: .relaxed) }
}
