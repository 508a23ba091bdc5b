package import Reactors

/// A reactor that counts its work, and refuses an action if its request makes too much of it.
package protocol MeteredReactor: Reactor {
    var work: RequestWork { get }
}

/// The work that the actions of one request have made, in steps of the reactor's own.
///
/// Why: a request has up to a thousand actions, and each may search the whole state. All of them
/// are decided at once.
@usableFromInline
package final class RequestWork {
    package private(set) var steps = 0
    private var weighed = 0
    /// Of a mutation as JSON, whose reading takes about as long as a step.
    private static let stepBytes = 4

    package init() {}

    package func count(_ steps: Int) { self.steps += steps }

    func begin() { (steps, weighed) = (0, 0) }

    /// The bytes of a mutation that would take as long as the work since the last call.
    func takeBytes() -> Int {
        defer { weighed = steps }
        return (steps - weighed) * Self.stepBytes
    }
}
