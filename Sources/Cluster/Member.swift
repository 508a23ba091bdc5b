/// A node that takes part in a cluster, as it describes itself to the others.
package struct Member: Sendable, Equatable {
    package var node: Node
    /// The address at which other members reach it, host and port; empty for a node without links,
    /// to which nothing is forwarded. A process that is started again at the same address keeps the
    /// sessions whose home it was.
    package var address: String
    /// The number of its loops that own sessions.
    package var loops: Int
    /// The reactors that it hosts, each with the version of its state (`stateVersion`).
    package var reactors: [String: Int]
    /// Whether it is about to end: it claims nothing, and is nobody's home.
    package var isLeaving: Bool

    package init(
        node: Node, address: String, loops: Int, reactors: [String: Int] = [:],
        isLeaving: Bool = false
    ) {
        self.node = node
        self.address = address
        self.loops = loops
        self.reactors = reactors
        self.isLeaving = isLeaving
    }
}
