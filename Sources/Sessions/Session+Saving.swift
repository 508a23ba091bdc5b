internal import Feeds
internal import Storage

// Snapshots and running actions in the journal; waking and sleeping.
extension Session {
    /// Takes a snapshot if one is due: after a number of records, or of bytes of records. The bytes
    /// of the open record are in the encoder.
    func considerSnapshot() {
        guard let persistence else { return }
        let (bytes, number) = (records.encoder.content.count, history.newest.number)
        if persistence.snapshots.recordWritten(bytes, at: number, table.limits) { takeSnapshot() }
    }

    /// Takes a snapshot if notes and failures have made one due. A journal trims a history only up
    /// to a snapshot, so without a new one it would keep them forever. Called before a turn,
    /// because during a turn the state may be ahead of the newest record.
    func considerEntries() {
        guard let persistence, mayDecide, !attempt.isRollback,
            persistence.snapshots.areEntriesDue(table.limits), let state = encodedState()
        else { return }
        EffectLog(session: self).close()
        takeSnapshot(state)
    }

    /// Takes a snapshot before the session leaves memory.
    func save() {
        guard let state = encodedState() else { return }
        if persistence?.snapshots.mustClose(history.newest) ?? false {
            EffectLog(session: self).close()
        }
        takeSnapshot(state)
    }

    /// The present state for a snapshot; nil if it has no JSON, which is reported.
    private func encodedState() -> [UInt8]? {
        guard let machine else { return nil }
        var state: [UInt8] = []
        state.reserveCapacity(stateEstimate)
        do {
            try machine.encodeState(.raw, at: nil, in: self, to: &state)
        } catch {
            report(.unencodable("the state", String(describing: error)))
            return nil
        }
        table.pass.count(state.count)
        return state
    }

    /// Adds a snapshot of the present state to the present step.
    ///
    /// - Parameter encoded: the state, if it is encoded already.
    func takeSnapshot(_ encoded: [UInt8]? = nil) {
        guard let machine, let state = encoded ?? encodedState() else { return }
        persistence?.snapshots.taken(
            state.count, at: history.newest.number, listens: tasks.listens)
        let step = step()
        // Counted, because requests of other clients share the commit.
        table.commits.charge(state.count, to: step)
        step.batch.snapshots.append(
            Snapshot(
                session: id.text, generation: generation.text, number: history.newest.number,
                version: history.newest.version, lastAction: machine.lastAction,
                stateVersion: machine.stateVersion, state: state, time: table.time,
                listens: tasks.listens))
    }

    /// Records that the session listens to sources, in the snapshots of its creation: after a
    /// restart it is woken to listen again.
    func noteListening() {
        guard let persistence, tasks.listens else { return }
        let step = step()
        for index in step.batch.snapshots.indices { step.batch.snapshots[index].listens = true }
        persistence.snapshots.listens = true
    }

    /// Adds an action whose effects are running to the present step: a restart recovers it.
    ///
    /// - Parameter attempt: the number of this attempt, from 1.
    func noteRunning(_ action: UInt64, _ content: [UInt8], attempt: Int = 1) {
        step().batch.started.append(
            RunningAction(
                session: id.text, generation: generation.text, action: action, content: content,
                subject: arrival.subject, begun: arrival.begunBefore + 1, attempt: attempt))
    }

    /// Records that the session receives an action again after a time, also in another process.
    func notePaused(_ action: RunningAction) {
        guard mayDecide, !attempt.isRollback else { return }
        step().batch.started.append(action)
    }

    /// Receives an action again whose effects were running when a process ended. The number of its
    /// attempts is committed before its effects begin once more.
    func runAgain(_ action: RunningAction, _ receive: () -> Void) {
        beginTurn()
        arrival.begunBefore = action.begun
        arrival.subject = action.subject
        beginWork(.action, action.action)
        receive()
        arrival = Arrival()
    }

    /// Records that the effects of an action have ended; not during a rollback: if the journal has
    /// the action as running, it is recovered when the session wakes.
    func noteSettled(_ action: UInt64) {
        guard mayDecide, !attempt.isRollback else { return }
        step().batch.settled.append(
            SettledAction(session: id.text, generation: generation.text, action: action))
    }

    // MARK: Waking

    /// Continues from a saved session: recovers the actions that were running, and
    /// opens the sources.
    func resume(_ saved: SavedSession) {
        guard let machine else { return }
        beginWork(.rebuilding)
        defer { endWork() }
        if saved.snapshot?.stateVersion != machine.stateVersion {
            takeSnapshot()
            uncommitted.last?.beginsForm = true
        }
        for action in saved.interrupted { machine.recover(action, in: self) }
        let opened = machine.openSources(in: self, isNew: false)
        tasks.read(opened.map { $0.begin() }, of: opened.map(\.name))
        forgetReads()
        countLateTimer()
        if timers.next != nil { waitForTimer() }
        if persistence?.snapshots.listens != tasks.listens { takeSnapshot() }
        endIfDecided()
    }

    // MARK: Leaving memory

    /// Releases everything but the subscribers.
    ///
    /// - Precondition: there are no uncommitted steps.
    func leaveMemory() {
        leave()
        keys = nil
        // The tasks that are still in it have ended.
        _ = tasks.removeAll()
        table.sessions.rest(self)
    }

    // MARK: Sleeping

    /// Whether no work is under way and every subscriber has got everything.
    ///
    /// Among several nodes, a session that is read is never at rest: asleep, it may be continued by
    /// another node, and its subscribers would not get the events.
    ///
    /// A session that listens to sources is never at rest: their elements would be lost. A session
    /// whose sources have all ended can be at rest, and opens them again when it wakes.
    var isAtRest: Bool {
        guard let archive = feed.archive, case .awake(let machine) = life, archive.reads == 0 else {
            return false
        }
        return uncommitted.isEmpty && !feed.isFraming && waits.isEmpty && tasks.isIdle
            && machine.isQuiet
            && (table.placement == nil ? streams.isAtRest : streams.isEmpty)
    }

    /// Whether the session acts without a request: it runs effects, or listens to sources.
    package var isWorking: Bool {
        isAwake && !(tasks.isIdle && machine?.isQuiet ?? true)
    }

    /// Whether the newest snapshot is of the newest record, and says whether the session listens.
    package var isSaved: Bool {
        persistence?.snapshots.number == history.newest.number
            && persistence?.snapshots.listens == tasks.listens
            && !(persistence?.snapshots.mustClose(history.newest) ?? false)
    }

    /// Releases everything but the subscribers.
    ///
    /// - Precondition: the session is at rest, and saved.
    func fallAsleep() {
        leaveMemory()
        feed.rest()
    }
}
