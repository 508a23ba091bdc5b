internal import Cluster
internal import Feeds
internal import Storage

/// Loads sessions from the journal.
struct SessionLoader {
    let table: SessionTable

    /// Loads a session. Calls `act` later, on this loop, with the result that
    /// ``SessionTable/find(_:)`` has then, or with the reason why the session could not be loaded.
    ///
    /// - Parameters:
    ///   - deposed: The session's owner, if it is gone or silent and loses the session; otherwise
    ///     nil.
    ///   - isWanted: Whether the caller still waits; if not, `act` may not be called.
    func load(
        _ id: SessionID, deposing deposed: Node? = nil,
        while isWanted: @escaping () -> Bool = { true }, then act: @escaping (SessionLookup) -> Void
    ) {
        guard table.loads.operations.addFollower(of: id, while: isWanted, act) else { return }
        read(id, deposing: deposed)
    }

    /// The maximum number of claims of a load, one after the other, that another node may overtake.
    private static let claimLimit = 8

    /// - Parameter overtaken: The claims of this load that another node has overtaken.
    private func read(_ id: SessionID, deposing deposed: Node? = nil, overtaken: Int = 0) {
        if let claims = table.cluster?.claims {
            guard table.eviction.mayMakeRoom(in: table) else {
                return look(for: id, deposing: deposed, claims)
            }
            let (asked, loads) = (table.uptime, table.cluster?.followed.loads ?? 0)
            claims.claim(id, deposing: deposed, in: table) { claim in
                if case .success(.owned(let saved)) = claim, table.loads.operations.isLoading(id),
                    isOvertaken(saved, of: id, since: loads)
                {
                    guard overtaken >= Self.claimLimit else {
                        // There may be no room by now, and the claim may be the newest after all.
                        claims.release(OwnedSession(saved.key, epoch: saved.epoch))
                        return read(id, overtaken: overtaken + 1)
                    }
                    // The journal lacks records that were shown: a node sent them, but they were
                    // never committed.
                    table.asleep(id)?.strandReaders()
                }
                finish(id, claim) { claim in
                    let found = insert(id, claim, claims)
                    if case .session(let session) = found { session.persistence?.confirmed = asked }
                    return found
                }
            }
        } else {
            table.ask { archive, answer in
                archive.load(id.text, answer)
            } then: { result in
                finish(id, result) { insert(id, $0) }
            }
        }
    }

    /// Whether another node claimed the session after this node did. This node follows the session,
    /// so it may learn of the other claim before it gets the answer to its own.
    ///
    /// Why: the session was read for the claim, and its subscribers would be ahead of that state.
    ///
    /// - Parameter loads: Those for streams that were sent when the session was claimed.
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
            return following.firstLoad > loads
                && following.firstLoad <= table.cluster?.followed.loads ?? 0
        }
        return present.history.committed.position > saved.end.position
            || (following.epoch ?? 0) > saved.epoch
    }

    /// Finds out which node owns a session for which there is no room. If this node claimed the
    /// session, it would have to give it up again, and no other node could have it meanwhile.
    private func look(for id: SessionID, deposing deposed: Node?, _ claims: SessionClaims) {
        claims.look(for: id, deposing: deposed, in: table) { result in
            finish(id, result) { result in
                switch result {
                case .failure(let failure): .unreadable(failure)
                case .success(.elsewhere(let node, let traits)):
                    .elsewhere(claims.member(node), traits)
                case .success(.unowned): .noRoom
                case .success(.ended): insertEnded(id)
                case .success(.nothing): insert(id, .success(nil))
                }
            }
        }
    }

    private func finish<Value>(
        _ id: SessionID, _ result: Result<Value, JournalFailure>,
        _ insert: (Result<Value, JournalFailure>) -> SessionLookup
    ) {
        // Otherwise the table has stopped meanwhile: nothing would end the session again.
        guard table.loads.operations.isLoading(id) else { return }
        if case .failure(.historyLost) = result { return read(id) }
        let loaded = table.present(id) ?? insert(result)
        let callers = table.loads.operations.remove(id)?.followers ?? []
        for caller in callers { caller.act(table.present(id) ?? loaded) }
    }

    /// Makes a claimed session a session of the table.
    private func insert(
        _ id: SessionID, _ claim: Result<Claim, JournalFailure>, _ claims: SessionClaims
    ) -> SessionLookup {
        switch claim {
        case .failure(let failure): return .unreadable(failure)
        case .success(.nothing): return insert(id, .success(nil))
        case .success(.ended): return insertEnded(id)
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
                claims.isHeard ? insert(id, .success(saved)) : .unreadable(.notHeard)
            if case .session = found { return found }
            claims.release(OwnedSession(saved.key, epoch: saved.epoch))
            return found
        }
    }

    private func insertEnded(_ id: SessionID) -> SessionLookup {
        table.abandonReaders(of: id)
        table.rememberEnded(id)
        return .ended
    }

    /// Makes the session that the journal has a session of the table.
    private func insert(
        _ id: SessionID, _ result: Result<SavedSession?, JournalFailure>
    ) -> SessionLookup {
        switch result {
        case .failure(let failure): return .unreadable(failure)
        case .success(nil):
            table.abandonReaders(of: id)
            return .nothing
        case .success(let saved?):
            guard !saved.isDeleted else { return insertEnded(id) }
            guard table.eviction.makeRoom(in: table) else { return .noRoom }
            do {
                let session = try restore(id, saved)
                table.absent.removeFault(of: id)
                session.resume(saved)
                return .session(session)
            } catch {
                table.absent.quarantine(id, saved.key.generation, error)
                return .quarantined(error)
            }
        }
    }

    /// Makes a copy of a session for readers. The copy is not in the table, and decides nothing.
    func copy(_ id: SessionID, _ result: Result<SavedSession?, JournalFailure>) -> SessionLookup {
        switch result {
        case .failure(let failure): return .unreadable(failure)
        case .success(nil): return .nothing
        case .success(let saved?):
            guard !saved.isDeleted else { return .ended }
            if let other = table.cluster?.claims.reader(of: saved, in: table) { return other }
            do throws(RecoveryFault) {
                let (registration, generation) = try find(saved)
                let feed = Feed(id, generation, registration.events, saved, in: table.feeds)
                return .copy(try SessionCopy(saved, feed, registration, in: table))
            } catch {
                return .quarantined(error)
            }
        }
    }

    private func restore(
        _ id: SessionID, _ saved: SavedSession
    ) throws(RecoveryFault) -> Session {
        try rebuild(id, saved) { (feed, registration) throws(RecoveryFault) in
            try Session(feed, registration, table, saved: saved, isNew: false)
        } insert: { session in
            table.forget(session.feed)
            session.feed.endFollowing()
            table.sessions.insert(session)
        }
    }

    /// Begins to follow a session, or brings a followed session up to date with the journal. The
    /// state is in memory until the copy is closed.
    ///
    /// - Parameter asked: When the session was read.
    func follow(
        _ id: SessionID, _ saved: SavedSession, asked: Int64
    ) throws(RecoveryFault) -> SessionCopy {
        try rebuild(id, saved) { (feed, registration) throws(RecoveryFault) in
            try SessionCopy(saved, feed, registration, in: table)
        } insert: { copy in
            copy.feed.beginFollowing(asked: asked)
            table.sessions.insert(copy.feed)
        }
    }

    /// Rebuilds the state for the feed that waits for it, or for a new feed that takes over the
    /// subscribers of another generation.
    private func rebuild<Rebuilt: ReadableSession>(
        _ id: SessionID, _ saved: SavedSession,
        make: (Feed, Registration) throws(RecoveryFault) -> Rebuilt, insert: (Rebuilt) -> Void
    ) throws(RecoveryFault) -> Rebuilt {
        table.forgetOver(id)
        let earlier = table.asleep(id)
        do throws(RecoveryFault) {
            let (registration, generation) = try find(saved)
            if let feed = earlier, !feed.isVoid, feed.generation == generation {
                let wasFollowed = feed.isFollowed
                let rebuilt = try make(feed, registration)
                feed.archive?.wake(saved)
                insert(rebuilt)
                feed.continueStreams(asCopy: !rebuilt.isDeciding, wasFollowed: wasFollowed)
                return rebuilt
            }
            let feed = Feed(id, generation, registration.events, saved, in: table.feeds)
            let rebuilt = try make(feed, registration)
            if let earlier {
                if !earlier.isVoid { earlier.strandReaders() }
                table.forget(earlier)
            }
            insert(rebuilt)
            if let earlier { feed.takeReaders(of: earlier) }
            return rebuilt
        } catch {
            // The subscribers reconnect, and then get the reason. The session is not read again for
            // each of them.
            earlier?.abandonReaders()
            throw error
        }
    }

    private func find(_ saved: SavedSession) throws(RecoveryFault) -> (Registration, Generation) {
        guard let registration = table.absent.registration(saved.reactor) else {
            throw .notHosted(saved.reactor)
        }
        return (registration, try Generation(saved: saved.key))
    }
}
