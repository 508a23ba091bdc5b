package import Storage

// Sessions that are in the journal and not in memory.
extension SessionTable {
    /// Fetches a session from the journal; `act` comes later, on this loop, with what
    /// ``find(_:)`` would say then.
    package func wake(_ id: SessionID, then act: @escaping (SessionLookup) -> Void) {
        if waking[id] != nil {
            waking[id]?.append(act)
            return
        }
        if deletions[id] != nil {
            deletions[id]?.followers.append(act)
            return
        }
        waking[id] = [act]
        ask { archive, answer in
            archive.load(id.text, answer)
        } then: { [unowned self] result in
            let found = present(id) ?? self.found(id, result)
            for act in waking.removeValue(forKey: id) ?? [] { act(present(id) ?? found) }
        }
    }

    /// Fetches a session whose sources have to be listened to again, after a commit that failed. As
    /// long as the journal can't be read, it is tried again with each tick.
    func listenAgain(_ id: SessionID) {
        deaf.remove(id)
        deafUntilTick.remove(id)
        // A request may have brought it back.
        guard case .notInMemory = find(id) else { return }
        wake(id) { [unowned self] found in
            switch found {
            case .unreadable, .noRoom: listenLater(id)
            case .session, .ended, .nothing, .notInMemory, .quarantined: break
            }
        }
    }

    /// The same at the next tick.
    func listenLater(_ id: SessionID) { deafUntilTick.insert(id) }

    /// Finds a session, in memory or, later, in the journal.
    func fetch(_ id: SessionID, then act: @escaping (SessionLookup) -> Void) {
        let found = find(id)
        guard case .notInMemory = found else { return act(found) }
        wake(id, then: act)
    }

    /// The session if it is in memory by now: a caller that was answered before may have created it.
    func present(_ id: SessionID) -> SessionLookup? {
        if case .notInMemory = find(id) { return nil }
        return find(id)
    }

    private func found(
        _ id: SessionID, _ result: Result<SavedSession?, JournalFailure>
    ) -> SessionLookup {
        switch result {
        case .failure(let failure): return .unreadable(failure)
        case .success(nil):
            asleep(id)?.abandonReaders()
            return .nothing
        case .success(let saved?):
            guard !saved.isDeleted else {
                asleep(id)?.abandonReaders()
                remember(id)
                return .ended
            }
            guard makeRoom() else { return .noRoom }
            do {
                let session = try restore(id, saved)
                session.resume(saved)
                return .session(session)
            } catch {
                quarantine(id, error)
                return .quarantined(error)
            }
        }
    }

    private func restore(
        _ id: SessionID, _ saved: SavedSession
    ) throws(RecoveryFault) -> Session {
        if let session = asleep(id) {
            guard session.generation.text != saved.key.generation else {
                do {
                    try session.wake(saved)
                    return session
                } catch {
                    // Its readers reconnect and get the reason then: it is not read once for each of them.
                    session.abandonReaders()
                    throw error
                }
            }
            session.abandonReaders()
        }
        guard let registration = registration(saved.reactor) else {
            throw .notHosted(saved.reactor)
        }
        guard let generation = Generation(saved.key.generation.utf8) else {
            throw RecoveryFault(place: "the generation", reason: saved.key.generation)
        }
        let session = try Session(id, registration, generation, self, saved: saved, isNew: false)
        keep(session)
        return session
    }

    /// A page of all sessions that the journal has. False if it has an archive of none: then
    /// nothing comes, and those in memory are all there are.
    package func page(
        after id: String?, limit: Int, reactor: String?,
        then act: @escaping (Result<[SavedLine], JournalFailure>) -> Void
    ) -> Bool {
        guard journal.archive != nil else { return false }
        ask(
            { archive, answer in
                archive.page(after: id, limit: limit, reactor: reactor, answer)
            }, then: act)
        return true
    }

    // MARK: Sleep

    /// Puts to sleep sessions that have not been used for four ticks, and fetches those whose
    /// sources nobody listens to: the first of them at once, and if the answer is true, more with
    /// each ``continueTick()``. Called once a tick; a quarter of the idle time is a good one.
    @discardableResult
    package func tick() -> Bool {
        ticks += 1
        if deaf.isEmpty { swap(&deaf, &deafUntilTick) }
        shown = nil
        eviction.tickBegan()
        return continueTick()
    }

    /// The next of both, 100 and 500 at the most: each may cost a question to the journal, or a
    /// snapshot. Whether there are more.
    package func continueTick() -> Bool {
        for _ in 0..<100 {
            guard let id = deaf.first else { break }
            listenAgain(id)
        }
        let mayHaveMore = putIdleToSleep(500)
        return mayHaveMore || !deaf.isEmpty
    }

    /// Whether enough sessions have left memory, asleep or ended, since this last returned true: what
    /// they took is worth returning to the system then.
    package func takeRelief() -> Bool {
        guard evictedCount >= 10_000 else { return false }
        evictedCount = 0
        shrink()
        return true
    }

    /// Looks at up to `limit` idle sessions. Returns whether there may be more.
    private func putIdleToSleep(_ limit: Int) -> Bool {
        guard ticks >= IdleSessions.ticks else { return false }
        let due = ticks - IdleSessions.ticks
        for _ in 0..<limit {
            guard let session = idle.dequeue(through: due) else { return false }
            if session.isAtRest, session.isSaved {
                putToSleep(session)
            } else {
                // Looked at again at the next tick: by then its snapshot is committed, or what it
                // does may be done.
                if session.isAtRest { session.takeSnapshot() }
                idle.put(session, at: due + 1)
            }
        }
        return true
    }

    /// Precondition: at rest, and saved.
    func putToSleep(_ session: Session) {
        session.fallAsleep()
        evictedCount += 1
        if session.streams.isEmpty { forget(session) }
    }

    /// Saves whatever is not saved, before the process ends; `act` comes when the journal has
    /// ended everything that was handed in, well or not.
    package func save(then act: @escaping () -> Void) {
        if journal.archive != nil { takeSnapshots() }
        commit()
        commits.whenCommitted(act)
    }
}
