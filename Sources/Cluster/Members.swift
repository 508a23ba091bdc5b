/// The members of a cluster, as one node sees them at one moment.
package struct Members: Sendable, Equatable {
    /// This node.
    package var own: Member
    /// The other nodes that have been heard of within a lease, by the database's clock.
    package var others: [Member]
    /// The database whose members they are.
    package var database: DatabaseMark
    /// Whether the newest known database has heard from this node within a lease. Otherwise other
    /// nodes may have declared it gone: it claims nothing, and its effects are cancelled.
    package var isHeard: Bool

    package init(
        own: Member, others: [Member] = [], database: DatabaseMark = DatabaseMark(era: 1),
        isHeard: Bool = true
    ) {
        self.own = own
        self.others = others
        self.database = database
        self.isHeard = isHeard
    }

    package var isAlone: Bool { others.isEmpty }

    /// Whether another member hosts the reactor, perhaps one that is about to end: it serves its
    /// sessions until then, and its successor may be starting.
    package func isHostedElsewhere(_ reactor: String) -> Bool {
        others.contains { $0.reactors[reactor] != nil }
    }

    /// Whether another member hosts a reactor that this one does not host.
    package var haveOtherReactors: Bool {
        others.contains { $0.reactors.keys.contains { own.reactors[$0] == nil } }
    }

    package subscript(node: Node) -> Member? {
        node == own.node ? own : others.first { $0.node == node }
    }
}
