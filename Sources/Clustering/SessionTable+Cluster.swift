package import Cluster
package import Feeds
package import Sessions
package import Storage

// Calls of the server if several nodes write to the journal.
extension SessionTable {
    /// Nil if no other node writes to the journal.
    package var cluster: TableCluster? { placement as? TableCluster }

    /// The same as ``wake(_:while:then:)``, but may depose an owner.
    ///
    /// - Parameter deposed: A node that is known to be gone or silent. If it owns the session, it
    ///   loses it.
    package func wake(
        _ id: SessionID, deposing deposed: Node?,
        while isWanted: @escaping () -> Bool = { true },
        then act: @escaping (SessionLookup) -> Void
    ) {
        guard let cluster else { return wake(id, while: isWanted, then: act) }
        let loader = SessionLoader(table: self)
        guard loader.begin(id, while: isWanted, for: act) else { return }
        ClaimedLoads(cluster: cluster, loader: loader).read(id, deposing: deposed)
    }

    // MARK: Ownership

    /// The sessions that this node owns. It examines every session.
    package var owned: [OwnedSession] {
        all.compactMap { $0.isAwake ? $0.ownership : nil }
    }

    /// A beat has shown that sessions of this node have another owner, or may have one.
    package func ownershipChanged(_ change: OwnershipChange) {
        guard change.members.isHeard else {
            for session in all {
                let works = session.isWorking
                depose(session)
                // The rows still name this node, so nobody else may continue the work.
                if works { loads.loadAtNextTick(session.id) }
            }
            return
        }
        for owned in change.deposed {
            guard let id = SessionID(own: owned.key.session), let session = awake(id),
                session.key == owned.key, session.tenure?.epoch ?? 0 <= owned.epoch
            else { continue }
            depose(session)
        }
    }

    /// Gives up some of the idle sessions, because the node leaves. Called at a fixed interval
    /// until the process ends.
    package func handOver() { cluster?.departures.handOver(100, in: self) }

    /// Gives up some of the idle sessions whose home is another member. Called four times a second.
    package func sendHome() { cluster?.departures.sendHome(100, in: self) }

    // MARK: Readers

    /// Answers reads that wait for the journal for too long. Called a few times a second.
    package func answerLateReads() { cluster?.reads.answerLate(in: self) }

    /// Asks the journal which followed sessions have changed. Called four times a second.
    package func askForChanges() {
        cluster?.followed.ask(in: self)
        topics.retry()
    }
}

/// The counters of a table's claims, reads and followed sessions, for monitoring.
package struct ClusterCounts: Sendable {
    package var claims = ClaimCounts()
    package var reads = ReadCounts()
    package var followed = FollowCounts()
    /// Sessions that this node owns.
    package var owned = 0

    package init() {}

    package mutating func add(_ other: ClusterCounts) {
        claims.add(other.claims)
        reads.add(other.reads)
        followed.add(other.followed)
        owned += other.owned
    }
}

extension SessionTable {
    /// Counts now. It examines every followed session.
    package var clusterCounts: ClusterCounts {
        var counts = ClusterCounts()
        guard let cluster else { return counts }
        counts.claims = cluster.claims.counts
        counts.owned = awakeCount
        counts.reads = cluster.reads.counts
        counts.followed = cluster.followed.counts(in: self)
        counts.followed.stateBytes = feeds.subscribers.stateBytes
        return counts
    }
}
