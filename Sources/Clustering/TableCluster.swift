internal import Cluster
package import Feeds
package import Sessions
package import Storage

/// The part of a table that exists only if several nodes write to its journal.
package final class TableCluster {
    let claims: SessionClaims
    let reads: SessionReads
    let followed: FollowedSessions
    let departures: SessionDepartures
    /// Nil if there are no links to other nodes.
    package var hints: (any SessionHints)?
    /// Nil if there are no links, too.
    package weak var parts: (any PartLinks)?

    package init(_ ownership: any Ownership) {
        claims = SessionClaims(ownership)
        reads = SessionReads(ownership)
        followed = FollowedSessions(ownership)
        departures = SessionDepartures(claims)
    }
}

/// Sends actions of parts to parents that this node does not have.
///
/// All methods are called on the loop of the parent's id.
package protocol PartLinks: AnyObject {
    /// Finds the node that decides on the action's parent, which may be this node, and delivers the
    /// action there. Ends the action once.
    func send(_ action: PartAction)
}

extension TableCluster: SessionPlacement {
    package func isHostedElsewhere(_ reactor: String) -> Bool {
        claims.members.isHostedElsewhere(reactor)
    }

    // MARK: Coming into memory

    package var hasRoom: Bool { claims.hasRoom }

    package func load(_ id: SessionID, by loader: SessionLoader) {
        ClaimedLoads(cluster: self, loader: loader).read(id)
    }

    package func delete(_ id: SessionID, by deleter: SessionDeleter) {
        claims.claim(id, isDeletion: true, in: deleter.table) { [claims] claim in
            switch claim {
            case .failure(let failure): deleter.finish(id, .unreadable(failure))
            case .success(.nothing): deleter.finishMissing(id)
            case .success(.ended): deleter.finishEnded(id)
            case .success(.elsewhere(let node, let traits)):
                deleter.finish(id, .overtaken(.elsewhere(claims.member(node), traits)))
            case .success(.noNode(let traits, let stateVersion)):
                deleter.finish(id, .overtaken(.noNode(traits, stateVersion: stateVersion)))
            case .success(.owned(let saved)):
                deleter.commitEnd(
                    of: id, saved.head, under: OwnedSession(saved.key, epoch: saved.epoch))
            }
        }
    }

    package func creates(_ session: Session, in table: SessionTable) {
        session.persistence?.placed = Tenure(epoch: 1, confirmed: table.uptime)
    }

    package func find(_ id: SessionID, _ read: SessionRead, in table: SessionTable) {
        reads.find(id, read, in: table)
    }

    package func find(_ id: SessionID, _ stream: StreamLookup, in table: SessionTable) {
        followed.open(id, stream)
    }

    // MARK: Commits

    package func stamp(_ batch: inout Batch, of step: Step) {
        let session = step.session
        if hints?.wantsRecords(of: session.id) ?? false {
            step.records = CommittedRecords(batch.runs)
        }
        // A creation has no owner before it.
        guard !step.isCreation, let owned = session.ownership else { return }
        batch.decide(under: owned)
    }

    package func committed(_ step: Step) { hints?.committed(step.session, step.records) }

    package func flush(in table: SessionTable) {
        claims.flush(in: table)
        reads.flush(in: table)
        followed.flush(in: table)
    }

    // MARK: Leaving memory

    package func giveUp(_ session: Session) { claims.release(session) }

    package func giveUp(_ session: OwnedSession) { claims.release(session) }

    package func countMoved() { claims.countDeposed() }

    package func left(_ id: SessionID) { hints?.left(id) }

    package func tickBegan() { claims.tickBegan() }

    package func removeAll() {
        claims.removeAll()
        reads.removeAll()
        followed.removeAll()
    }

    // MARK: Readers without a session

    package var questions: UInt64 { followed.questions }

    package func carryOn(_ feed: Feed, in table: SessionTable) {
        followed.carryOn(feed, in: table)
    }

    package func loadState(of feed: Feed) { followed.loadState(of: feed) }

    package func forgot(_ feed: Feed) {
        if feed.isElsewhere, !feed.isOver { hints?.unfollow(feed.id) }
    }

    package func presenceChanged(_ feed: Feed) { hints?.presenceChanged(feed) }

    // MARK: Parts

    package func send(_ action: PartAction) -> Bool {
        guard let parts else { return false }
        parts.send(action)
        return true
    }
}
