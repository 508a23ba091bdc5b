internal import Cluster
internal import Feeds
internal import Sessions
internal import Storage

/// Loads sessions that this node claims.
struct ClaimedLoads {
    let cluster: TableCluster
    let loader: SessionLoader

    private var table: SessionTable { loader.table }
    private var claims: SessionClaims { cluster.claims }

    /// The maximum number of times that a load claims again after another node was faster.
    private static let claimLimit = 8

    /// - Parameters:
    ///   - deposed: The session's owner, if it is gone or silent and loses the session; otherwise
    ///     nil.
    ///   - overtaken: The claims of this load that another node has overtaken.
    func read(_ id: SessionID, deposing deposed: Node? = nil, overtaken: Int = 0) {
        guard claims.hasRoom, table.eviction.mayMakeRoom(for: id, in: table) else {
            return look(for: id, deposing: deposed)
        }
        let (asked, loads) = (table.uptime, cluster.followed.loads)
        claims.claim(id, deposing: deposed, in: table) { claim in
            if case .success(.owned(let saved)) = claim, table.isLoading(id),
                isOvertaken(saved, of: id, since: loads)
            {
                guard overtaken >= Self.claimLimit else {
                    // Released first, because this claim may be the newest after all, and the next
                    // attempt may find no room.
                    claims.release(OwnedSession(saved.key, epoch: saved.epoch))
                    return read(id, overtaken: overtaken + 1)
                }
                // The journal lacks records that were shown: a node sent them, but they were
                // never committed.
                table.asleep(id)?.strandReaders()
            }
            loader.finish(id, claim) { insert(id, $0, asked: asked) }
        }
    }

    /// Whether another node claimed the session after this node did. This node follows the session,
    /// so it may learn of the other claim before it gets the answer to its own.
    ///
    /// Why: the state that was read for the claim may be older than what its subscribers have.
    ///
    /// - Parameter loads: The number of loads for streams that were sent before the claim.
    private func isOvertaken(
        _ saved: SavedSession, of id: SessionID, since loads: UInt64
    ) -> Bool {
        guard let present = table.asleep(id),
            // After lost history nothing that this node has of the session counts.
            !present.isVoid, let following = present.archive?.following, !following.isOver
        else { return false }
        // The generations differ: the one that was read later is the newer one.
        guard present.key == saved.key else {
            // A load that is not sent yet has read nothing.
            return following.firstLoad > loads && following.firstLoad <= cluster.followed.loads
        }
        return present.history.committed.position > saved.end.position
            || (following.epoch ?? 0) > saved.epoch
    }

    /// Finds out which node owns a session for which there is no room. If this node claimed the
    /// session, it would have to give it up again, and no other node could have it meanwhile.
    private func look(for id: SessionID, deposing deposed: Node?) {
        claims.look(for: id, deposing: deposed, in: table) { result in
            loader.finish(id, result) { result in
                switch result {
                case .failure(let failure): .unreadable(failure)
                case .success(.elsewhere(let node, let traits)):
                    .elsewhere(claims.member(node), traits)
                case .success(.unowned): .noRoom
                case .success(.ended): loader.insertEnded(id)
                case .success(.nothing): loader.insert(id, .success(nil))
                }
            }
        }
    }

    /// Makes a claimed session a session of the table.
    private func insert(
        _ id: SessionID, _ claim: Result<Claim, JournalFailure>, asked: Int64
    ) -> SessionLookup {
        switch claim {
        case .failure(let failure): return .unreadable(failure)
        case .success(.nothing): return loader.insert(id, .success(nil))
        case .success(.ended): return loader.insertEnded(id)
        case .success(.elsewhere(let node, let traits)):
            // The subscribers reconnect, unless they get the events from the journal.
            table.abandonReaders(of: id)
            return .elsewhere(claims.member(node), traits)
        case .success(.noNode(let traits, let stateVersion)):
            table.abandonReaders(of: id)
            return .noNode(traits, stateVersion: stateVersion)
        case .success(.owned(let saved)):
            // The lease may have ended since the claim.
            let found =
                claims.isHeard ? loader.insert(id, .success(saved)) : .unreadable(.notHeard)
            if case .session(let session) = found {
                session.persistence?.placed = Tenure(epoch: saved.epoch, confirmed: asked)
                return found
            }
            claims.release(OwnedSession(saved.key, epoch: saved.epoch))
            return found
        }
    }
}
