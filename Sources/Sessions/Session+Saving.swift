internal import Storage

// Snapshots and running actions in the journal, and leaving memory.
extension Session {
    /// A snapshot is due after a number of records, or of their bytes; the record that was begun
    /// last is in the encoder.
    func considerSnapshot() {
        guard let persistence else { return }
        persistence.bytesSince += table.records.encoder.content.count
        guard
            history.newest.number - persistence.snapshotNumber >= UInt64(table.limits.snapshotEvery)
                || persistence.bytesSince
                    >= max(table.limits.snapshotBytes, persistence.snapshotBytes)
        else { return }
        takeSnapshot()
    }

    /// Puts the present state into the present step.
    func takeSnapshot() {
        guard let machine else { return }
        var state: [UInt8] = []
        do {
            try machine.encodeState(.raw, at: nil, in: self, to: &state)
        } catch {
            return report(.unencodable("the state", String(describing: error)))
        }
        persistence?.snapshotNumber = history.newest.number
        persistence?.bytesSince = 0
        persistence?.snapshotBytes = state.count
        step().batch.snapshots.append(
            Snapshot(
                session: id.text, generation: generation.text, number: history.newest.number,
                version: history.newest.version, lastAction: machine.lastAction,
                stateVersion: machine.stateVersion, state: state, time: table.time))
    }

    func noteRunning(_ action: UInt64, _ content: [UInt8]) {
        step().batch.started.append(
            RunningAction(
                session: id.text, generation: generation.text, action: action, content: content,
                begun: arrival.begunBefore + 1))
    }

    /// Receives an action again that ran when a process ended. How often it was begun is committed
    /// before its effects begin once more.
    func runAgain(_ action: RunningAction, _ receive: () -> Void) {
        arrival.begunBefore = action.begun
        begins(.action, action.action)
        receive()
        arrival = Arrival()
    }

    /// The effects of an action have ended. While a step is rolled back nothing is noted: a journal
    /// that knows of the action brings it back when the session wakes.
    func noteSettled(_ action: UInt64) {
        guard mayDecide, !attempt.isRollback else { return }
        step().batch.settled.append(
            SettledAction(session: id.text, generation: generation.text, action: action))
    }

    // MARK: Waking

    /// Continues where another process, or this one, left the session.
    func resume(_ saved: SavedSession) {
        guard let machine else { return }
        begins(.rebuilding)
        defer { ends() }
        if saved.snapshot?.stateVersion != machine.stateVersion { takeSnapshot() }
        for action in saved.running { machine.recover(action, in: self) }
        let opened = machine.openSources(in: self, isNew: false)
        tasks.read(opened.map { $0() })
    }

    // MARK: When a commit fails

    /// Nobody knows whether the journal has what it said that it has not: a flush that failed may
    /// have written all the same. So memory is no longer believed; the next request brings
    /// the session back from what the journal really has. One that listens to sources comes back
    /// at once, or, if that fails, at the next tick.
    func invalidate() {
        let listens = tasks.isListening
        cancelTasks()
        // A reader that is between the journal and the stream needs a machine to continue.
        for stream in streams.all {
            for subscriber in stream.subscribers where !subscriber.isLive { subscriber.abandon() }
        }
        leaveMemory()
        guard !streams.isEmpty || listens else { return table.forget(self) }
        guard listens, let persistence else { return }
        // The present values of its sources may be those that could not be committed: a session that has
        // committed nothing since it woke would wake and fail as fast as the disk does.
        if persistence.hasCommitted {
            SessionLoader(table: table).reopenSources(of: id)
        } else {
            table.reopenings.addForNextTick(id)
        }
    }

    /// Precondition: memory holds nothing that is not decided or rolled back.
    private func leaveMemory() {
        fallAsleepAtOnce()
        keys = nil
        // Those that have ended.
        tasks = EffectTasks()
    }

    /// The session is not what its readers read any more: they come back with the id they have.
    func abandonReaders() {
        for stream in streams.all {
            for subscriber in stream.subscribers { subscriber.abandon() }
        }
        streams = SessionStreams()
        table.forget(self)
    }

    // MARK: Sleeping

    /// Nothing of it is under way, and everybody who reads has everything.
    ///
    /// A session that listens to sources is never at rest: whatever they bring would be lost. One
    /// whose sources are all over is, and opens them again when it wakes.
    var isAtRest: Bool {
        guard let persistence, case .awake(let machine) = life, persistence.archiveReads == 0 else {
            return false
        }
        return uncommitted.isEmpty && waits.isEmpty && tasks.isIdle && machine.isQuiet
            && streams.isAtRest
    }

    /// Whether the newest snapshot says everything.
    var isSaved: Bool { persistence?.snapshotNumber == history.newest.number }

    /// Releases everything but the subscribers.
    ///
    /// - Precondition: at rest, and saved.
    func fallAsleep() {
        leaveMemory()
        for stream in streams.all { stream.removeAll() }
    }
}
