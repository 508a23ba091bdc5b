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

    package init() {}

    /// - Parameter isRepeated: whether a rollback or a load repeats these steps.
    package func count(_ steps: Int, isRepeated: Bool = true) {
        self.steps += steps
        if !isRepeated { weighed += steps }
    }

    func begin() { (steps, weighed) = (0, 0) }

    /// The repeated steps since the last call.
    func takeSteps() -> Int {
        defer { weighed = steps }
        return steps - weighed
    }
}
