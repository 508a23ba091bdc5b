/// Nodes that have linked to this one and that its last beat did not show.
///
/// A node that starts knows the members at once, and they know it after their next beats. Meanwhile
/// its sessions may listen already: what has to reach all nodes waits until this one knows its
/// address. A node that has been a member and is none any more is no newcomer: it is declared gone.
package struct Newcomers: Sendable {
    /// Above this number of nodes that have been members, those are forgotten that have neither a
    /// row nor a link.
    static let limit = 10_000

    /// Nodes that have been members.
    private var known: Set<Int64> = []

    package init() {}

    /// - Parameter linked: All nodes that have a link to this one.
    package mutating func observe(_ members: Members, linked: Set<Int64>) {
        let present = Set(members.others.map(\.node.number))
        known.formUnion(present)
        if known.count > Self.limit { known.formIntersection(linked.union(present)) }
    }

    /// Whether one of these nodes is one.
    package func areAmong(_ nodes: Set<Int64>) -> Bool { !known.isSuperset(of: nodes) }
}
