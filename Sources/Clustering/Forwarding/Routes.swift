package import Cluster

/// The owners of sessions, as far as this node knows them, so that requests go straight there.
///
/// If a route is wrong, the node that it names answers that the session has moved.
package struct Routes<Session: Hashable & Sendable>: Sendable {
    private let limit: Int
    private var owners: [Session: (node: Node, number: UInt64)] = [:]
    /// All routes in the order in which they were made, the oldest first. The number of a forgotten
    /// or replaced entry differs from its session's number in `owners`.
    private var order: [(session: Session, number: UInt64)] = []
    private var oldest = 0
    private var lastNumber: UInt64 = 0

    /// - Parameter limit: The maximum number of routes; the oldest is forgotten for the next.
    package init(limit: Int = 100_000) { self.limit = limit }

    package var count: Int { owners.count }

    package subscript(session: Session) -> Node? { owners[session]?.node }

    package mutating func remember(_ node: Node, of session: Session) {
        lastNumber += 1
        owners[session] = (node, lastNumber)
        order.append((session, lastNumber))
        while owners.count > limit { forgetOldest() }
        if order.count > 2 * limit + 64 { removeForgotten() }
    }

    package mutating func forget(_ session: Session) { owners[session] = nil }

    private mutating func forgetOldest() {
        let (session, number) = order[oldest]
        oldest += 1
        if owners[session]?.number == number { owners[session] = nil }
    }

    private mutating func removeForgotten() {
        order = order[oldest...].filter { owners[$0.session]?.number == $0.number }
        oldest = 0
    }
}
