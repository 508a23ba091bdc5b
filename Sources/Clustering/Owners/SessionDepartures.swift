internal import Cluster
internal import Sessions

/// Gives up idle sessions that another node is to continue: because this node leaves, or because
/// the other node is their home.
final class SessionDepartures {
    private let claims: SessionClaims
    /// Where ``handOver(_:in:)`` continues to examine sessions.
    private var handoverCursor = Eviction.start
    /// Where ``sendHome(_:in:)`` continues.
    private var homeCursor = Eviction.start

    init(_ claims: SessionClaims) { self.claims = claims }

    /// Gives up idle sessions, because the node leaves. Another node continues each of them with
    /// the next request. Examines up to `limit`, and continues with the next call.
    func handOver(_ limit: Int, in table: SessionTable) {
        let count = table.eviction.giveUp(limit, from: &handoverCursor, in: table) { session in
            wait(session, in: table)
            return true
        }
        claims.countHandedOver(count)
    }

    /// Gives up idle sessions that were not used for some time, and whose home is another member.
    /// That member continues them.
    func sendHome(_ limit: Int, in table: SessionTable) {
        let (members, now) = (claims.members, table.uptime)
        guard members.isHeard, !members.isAlone else { return }
        _ = table.eviction.giveUp(limit, from: &homeCursor, in: table) { session in
            guard let persistence = session.persistence, let tenure = session.tenure,
                claims.home(of: session, members) != nil
            else { return false }
            guard !persistence.takeUse() else {
                tenure.unusedSince = now
                return false
            }
            guard now - tenure.unusedSince >= claims.homeRest else { return false }
            wait(session, in: table)
            return true
        } act: {
            claims.sendHome($0, members)
        }
    }

    /// A session that is not saved is given up with a later call, once its snapshot is committed.
    /// Its time at rest starts again, so a session whose state cannot be encoded is not tried with
    /// every call.
    private func wait(_ session: Session, in table: SessionTable) {
        if !session.isSaved { session.tenure?.unusedSince = table.uptime }
    }
}
