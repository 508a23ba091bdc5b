internal import Storage

/// The part of a table that exists only if several nodes write to its journal.
package final class TableCluster {
    let claims: SessionClaims
    let reads: SessionReads
    let followed: FollowedSessions
    /// Nil if there are no links to other nodes.
    package var hints: (any SessionHints)?
    /// Nil if there are no links, too.
    package weak var parts: (any PartLinks)?

    init(_ ownership: any Ownership) {
        claims = SessionClaims(ownership)
        reads = SessionReads(ownership)
        followed = FollowedSessions(ownership)
    }

    /// Sends the claims and questions that this round has gathered.
    func flush(in table: SessionTable) {
        claims.flush(in: table)
        reads.flush(in: table)
        followed.flush(in: table)
    }

    func removeAll() {
        claims.removeAll()
        reads.removeAll()
        followed.removeAll()
    }
}
