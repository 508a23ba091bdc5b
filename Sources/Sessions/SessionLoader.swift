package import Feeds
package import Storage

/// Loads sessions from the journal.
package struct SessionLoader {
    package let table: SessionTable
    /// Whether a request waits for the session.
    private let isWanted: Bool

    package init(table: SessionTable, isWanted: Bool = true) {
        self.table = table
        self.isWanted = isWanted
    }

    /// Loads a session. Calls `act` later, on this loop, with the result that
    /// ``SessionTable/find(_:)`` has then, or with the reason why the session could not be loaded.
    ///
    /// - Parameter isWanted: Whether the caller still waits; if not, `act` may not be called.
    package func load(
        _ id: SessionID, while isWanted: @escaping () -> Bool = { true },
        then act: @escaping (SessionLookup) -> Void
    ) {
        if begin(id, while: isWanted, for: act) { read(id) }
    }

    /// Adds a caller that wants the session.
    ///
    /// - Returns: whether the caller has to begin the load: no load or deletion is under way.
    package func begin(
        _ id: SessionID, while isWanted: @escaping () -> Bool = { true },
        for act: @escaping (SessionLookup) -> Void
    ) -> Bool {
        table.loads.operations.addCaller(of: id, while: isWanted, act)
    }

    private func read(_ id: SessionID) {
        if let placement = table.placement { return placement.load(id, by: self) }
        table.ask { archive, answer in
            archive.load(id.text, answer)
        } then: { result in
            finish(id, result) { insert(id, $0) }
        }
    }

    /// Ends a load: calls all that wait for it, unless history was lost meanwhile.
    ///
    /// - Parameter insert: makes what was read a session of the table.
    package func finish<Value>(
        _ id: SessionID, _ result: Result<Value, JournalFailure>,
        _ insert: (Result<Value, JournalFailure>) -> SessionLookup
    ) {
        // Otherwise the table has stopped meanwhile: nothing would end the session again.
        guard table.loads.operations.isLoading(id) else { return }
        if case .failure(.historyLost) = result { return read(id) }
        let loaded = table.present(id) ?? insert(result)
        let callers = table.loads.operations.remove(id)?.callers ?? []
        for caller in callers { caller.act(table.present(id) ?? loaded) }
    }

    /// Remembers that the session was deleted. Its readers reconnect, and get the reason.
    package func insertEnded(_ id: SessionID) -> SessionLookup {
        table.abandonReaders(of: id)
        table.rememberEnded(id)
        return .ended
    }

    /// Makes the session that the journal has a session of the table.
    package func insert(
        _ id: SessionID, _ result: Result<SavedSession?, JournalFailure>
    ) -> SessionLookup {
        switch result {
        case .failure(let failure): return .unreadable(failure)
        case .success(nil):
            table.abandonReaders(of: id)
            return .nothing
        case .success(let saved?):
            guard !saved.isDeleted else { return insertEnded(id) }
            guard id.topic != nil || table.eviction.makeRoom(in: table, isWanted: isWanted)
            else { return .noRoom }
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
    package func copy(_ id: SessionID, _ saved: SavedSession) -> SessionLookup {
        do throws(RecoveryFault) {
            let (registration, generation) = try find(saved)
            let feed = Feed(id, generation, registration.events, saved, in: table.feeds)
            return .copy(try SessionCopy(saved, feed, registration, in: table))
        } catch {
            return .quarantined(error)
        }
    }

    private func restore(
        _ id: SessionID, _ saved: SavedSession
    ) throws(RecoveryFault) -> Session {
        try rebuild(id, saved) { (feed, registration) throws(RecoveryFault) in
            try Session(feed, registration, table, saved: saved, isNew: false)
        } insert: { session in
            table.forget(session.feed)
            session.feed.endUpkeep()
            table.sessions.insert(session)
        }
    }

    /// Makes a copy for the feed of a session that this node does not have, or for a new feed. The
    /// state is in memory until the copy is closed.
    ///
    /// - Parameter take: takes the feed, before its readers continue.
    package func copyForReaders(
        _ id: SessionID, _ saved: SavedSession, _ take: (Feed) -> Void
    ) throws(RecoveryFault) -> SessionCopy {
        try rebuild(id, saved) { (feed, registration) throws(RecoveryFault) in
            try SessionCopy(saved, feed, registration, in: table)
        } insert: { copy in
            take(copy.feed)
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
                let wasElsewhere = feed.isElsewhere
                let rebuilt = try make(feed, registration)
                feed.archive?.wake(saved)
                insert(rebuilt)
                feed.continueStreams(asCopy: !rebuilt.isDeciding, wasElsewhere: wasElsewhere)
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
