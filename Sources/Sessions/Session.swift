package import Feeds
internal import JSONCoding
internal import Reactors
package import Storage

/// One running instance of a reactor, with its own state and its own total order.
///
/// Design: *decide inside, act outside*. A call decides at once, in memory: the machine's state and
/// the history are ahead of the journal. The newest step of `uncommitted` collects the decisions.
/// When the journal has committed the step, ``commit(_:isTaken:)`` advances `history.committed`;
/// only then replies are sent and events are framed. A state that is read before the commit is
/// captured at once and sent after the commit.
@usableFromInline
package final class Session {
    package let registration: Registration
    /// The readers' side of the session.
    package let feed: Feed
    /// Invariant: ``SessionTable/stop()`` releases the sessions, so this is no permanent cycle.
    package let table: SessionTable
    /// The table's. Why a copy: a reference that is read through `table` is retained for each use.
    let records: RecordWriter
    /// Whether the journal stores records. A copy of ``Journal/keepsRecords``: it is read for every
    /// record.
    @usableFromInline
    let keepsRecords: Bool

    /// The machine is part of the life, so that code which runs after a wait cannot meet a session
    /// without one.
    enum Life {
        /// The machine is being made. Failures meanwhile are recorded if the session is new.
        case starting(isNew: Bool)
        case awake(any Machine)
        /// The end is decided and not committed yet.
        case ending(any Machine)
        case ended
        /// The session has left memory. Its feed may stay for the readers; the next load makes
        /// another session for this feed.
        case left
    }

    private(set) var life: Life
    /// The same as the feed's. Why a copy: it is read for every record.
    package let history: History
    package let incarnation: UInt64
    /// Numbers the decisions of all sessions of the table that were made one upon the other: a
    /// session that is loaded or rolled back begins another lineage.
    private(set) var lineage: UInt64
    /// Nil if the journal has no archive.
    package let persistence: PersistenceState?
    /// The steps that are not committed, oldest first. Replies are attached to the last one.
    let uncommitted = StepQueue()
    /// The time of the session's last record or note, in milliseconds since 1970 (UTC), by the
    /// clock of the node that wrote it. Without a journal, each action sets it too.
    var lastUse: Int64
    var tasks: EffectTasks
    var waits = SettledWaits()
    var attempt = Attempt()
    /// Empty unless an action is being received.
    var arrival = Arrival()
    var traces = ActionTraces()
    var meters = SizeMeters()
    var timers: SessionTimers
    /// The tags of the last submitted commit; nil: the journal may have none.
    package var tags: SessionTags?
    /// Nil before the first request with an `Idempotency-Key`. Used with `if let`, because every
    /// answer reads it, and the access of an optional chain may be checked at run time (ADR-0013).
    var keys: IdempotencyKeys?

    /// - Parameters:
    ///   - feed: a new feed, or one that was kept for its subscribers.
    ///   - saved: the state that the session begins with; nil: the initial state.
    ///   - isNew: false if the journal has the session already.
    init(
        _ feed: Feed, _ registration: Registration, _ table: SessionTable,
        saved: SavedSession? = nil, isNew: Bool
    ) throws(RecoveryFault) {
        self.feed = feed
        self.registration = registration
        self.table = table
        history = feed.history
        self.records = table.commits.records
        timers = SessionTimers(saved?.timers ?? [])
        // A fork gets its own tags.
        tags = isNew ? nil : saved?.tags
        self.keepsRecords = table.journal.keepsRecords
        self.tasks = EffectTasks(table.effects.count(of: registration.name))
        self.persistence = table.journal.archive == nil ? nil : PersistenceState(saved)
        incarnation = table.sessions.nextIncarnation()
        lastUse = isNew ? table.time : saved?.lastTime ?? 0
        lineage = incarnation
        life = .starting(isNew: isNew)
        history.restart(at: saved?.end ?? HistoryEnd(), keepsNotes: keepsRecords)
        let bytes = saved?.snapshot?.state.count ?? 0
        meters.state.begin(bytes)
        table.pass.count(saved?.stateBytes ?? 0)
        beginWork(.rebuilding)
        defer { endWork() }
        do throws(RecoveryFault) {
            life = .awake(try registration.makeMachine(self, saved))
        } catch {
            life = .left
            throw error
        }
        // A snapshot of an earlier form is encoded again, in the form of this program.
        if isNew, let snapshot = saved?.snapshot, snapshot.stateVersion == registration.stateVersion
        {
            persistence?.first = snapshot.state
        }
        feed.source = self
        table.eviction.add(self)
    }

    deinit { if isAwake { feed.source = nil } }

    /// Removes the state from memory. Later calls have no effect.
    func leave() {
        history.restart(at: history.committed, keepsNotes: keepsRecords)
        table.eviction.remove(self)
        traces.removeAll()
        life = .left
        feed.source = nil
        table.timers.left(id, at: table.timerTime)
        table.placement?.left(id)
    }

    /// The end is committed, or the process ends.
    func end(_ act: () -> Void) {
        table.eviction.remove(self)
        table.timers.remove(id)
        let machine = machine
        life = .ended
        feed.source = nil
        machine?.end(in: self)
        traces.removeAll()
        act()
    }

    /// Later decisions do not depend on those that were rolled back.
    func beginLineage() { lineage = table.sessions.nextIncarnation() }

    /// Undoes a decided end whose commit failed.
    func takeBackEnd() {
        if case .ending(let machine) = life { life = .awake(machine) }
    }

    /// The reply to a request that arrives, or continues after a wait, when the session is not
    /// running.
    package var absence: Reply.Kind {
        switch life {
        case .ending, .ended: .gone
        case .starting, .awake, .left: .failed(.leftMemory)
        }
    }

    package var position: Position { Position(generation, history.committed.number) }
    package var version: UInt64 { history.committed.version }

    // MARK: Turns

    /// Counts bytes of records and events that the present turn makes, and refuses the present
    /// decision if they are too many.
    @usableFromInline
    func countMade(_ bytes: Int) {
        meters.turnBytes += bytes
        let limit = table.limits.turnBytes
        if meters.turnBytes > limit { refuse(.tooMuchOutput(limit: limit)) }
    }

    /// Counts bytes of a timer's action as part of what the present turn makes.
    ///
    /// - Returns: false if that would be too much. Then they are not counted.
    func admitsTimer(_ bytes: Int) -> Bool {
        guard meters.turnBytes + bytes <= table.limits.turnBytes else { return false }
        meters.turnBytes += bytes
        return true
    }

    /// Begins a turn. Drops a refusal that an earlier turn has left.
    func beginTurn() {
        meters.turnBytes = 0
        _ = takeRefusal()
        considerEntries()
    }

    // MARK: Requests

    /// Writes the creation, which is record 0. Requests are answered after its commit.
    ///
    /// - Parameter charge: the charge for the state with which the session begins, until the
    ///   creation is committed.
    func create(for token: UInt64, _ charge: WorkCharge? = nil) {
        let step = step()
        step.creates = true
        step.charge = charge
        if keepsRecords {
            records.finish()
            // Records that were written while the initial state was read follow the creation.
            let earlier = step.batch.runs
            step.batch.runs = []
            let start = HistoryEnd(version: history.newest.version)
            records.begin(.created, at: start, action: .none, time: table.time, in: step)
            feed.creation.append(to: &records.encoder.content)
            records.finish()
            for run in earlier { step.batch.runs[0].append(run) }
        }
        beginWork(.rebuilding)
        if let persistence {
            takeSnapshot(history.newest.version == 0 ? persistence.first : nil)
            persistence.first = nil
        }
        let opened = machine?.openSources(in: self, isNew: history.newest.version == 0)
        endWork()
        tasks.open(opened ?? [])
        table.expiry.begin(self)
        noteListening()
        answer(content(.created(isNew: true)), token)
        endIfDecided()
    }

    /// Replies to a request to create a session that exists already.
    package func acknowledgeExisting(for token: UInt64) {
        guard isRunning else { return answer(content(absence), token) }
        answer(content(.created(isNew: false)), token)
    }

    /// Receives the actions of one request. The answer is sent when they are committed or, if the
    /// request waits, when their effects have ended.
    package func post(_ post: ActionPost) throws(ActionRefusal) {
        guard isRunning else { return answer(content(absence), post.token) }
        guard table.commits.hasRoom else { throw .overloaded }
        table.eviction.recordUse(of: self)
        if !post.doneKeys.isEmpty, persistence == nil, let keys { keys.release(post.ownedDoneKeys) }
        if let key = post.ownedKey {
            let keys = keys ?? makeKeys()
            guard try KeyedRequests(session: self, keys: keys).admits(post, key) else { return }
        }
        do {
            try receive(post)
        } catch {
            keys?.forget(post.token)
            throw error
        }
    }

    private func makeKeys() -> IdempotencyKeys {
        let keys = IdempotencyKeys(isPartial: persistence?.hasStoredAnswers ?? false)
        self.keys = keys
        return keys
    }

    func receive(_ post: ActionPost) throws(ActionRefusal) {
        guard case .awake(let machine) = life else {
            return answer(content(absence), post.token)
        }
        try post.check?()
        let mayApply =
            post.condition?.holds(at: Position(generation, history.newest.number)) ?? true
        beginTurn()
        arrival.traceparent = post.traceparent
        arrival.subject = post.subject
        arrival.trace = post.trace
        arrival.key = post.key
        arrival.line = keepsNotes || keepsRecords ? JSON.oneLine(post.body.bytes) : nil
        meters.mutation.unchargedBytes = post.body.bytes.count
        meters.state.addReceived(post.body.bytes.count)
        let first = machine.lastAction + 1
        arrival.posted = (post.body.json, first)
        beginWork(.action, first)
        defer {
            endWork()
            arrival = Arrival()
            meters.mutation.unchargedBytes = nil
        }
        let received: Receipt?
        do throws(ActionRefusal) {
            received = try machine.receive(
                post.body.json, batchLimit: table.limits.batch, mayApply: mayApply, in: self)
        } catch {
            guard error.isByState else { throw error }
            return refuse(error, of: post)
        }
        guard var receipt = received else { return refuseCondition(of: post) }
        receipt.failures = arrival.failures
        // Why not with a journal: there each action has a note, which sets the time.
        if persistence == nil { lastUse = table.time }
        if let step = uncommitted.last {
            table.commits.charge(post.body.bytes.count, to: step)
            if let trace = post.trace { step.traced.append(trace.beginCommit()) }
        }
        if attempt.endsSession {
            // The answer has the position before the end.
            let content = self.content(.received(receipt))
            endIfDecided()
            answer(content, post.token)
        } else if post.waits, !receipt.unsettled.isEmpty {
            if let keys {
                KeyedRequests(session: self, keys: keys).storePreliminary(receipt, for: post.token)
            }
            waits.add(
                SettledWaits.Wait(
                    token: post.token, actions: receipt.unsettled, receipt: receipt,
                    step: uncommitted.last))
        } else {
            answer(content(.received(receipt)), post.token)
        }
        // A cancellation among the actions may have ended the effects of others, or of these.
        if attempt.hasSettled { answerSettled() }
    }

    /// Receives an action of a part of this session.
    ///
    /// - Parameters:
    ///   - subject: The client for which the part acts.
    ///   - act: Called once: now, or when the action's first part is committed or cannot be.
    func receivePart(
        by subject: String?, _ content: PartContent, then act: @escaping (PartOutcome) -> Void
    ) {
        guard case .awake(let machine) = life else {
            // It has left memory meanwhile, unless it has ended.
            return act(hasEnded || isEnding ? .missing : .moved(nil))
        }
        guard let parent = machine as? any ParentMachine else { return act(.missing) }
        table.eviction.recordUse(of: self)
        beginTurn()
        arrival.subject = subject
        let start = Result { try parent.beginPart(content) }
        endWork()
        arrival = Arrival()
        switch start {
        case .success: answer(.part { act(PartOutcome($0)) })
        case .failure(let error): refusePart(error, then: act)
        }
        // A cancellation in the action may have ended the effects of others.
        if attempt.hasSettled { answerSettled() }
    }

    /// The client that has sent the action which is being received. A function for the reason of
    /// ADR-0013.
    @usableFromInline
    func subject() -> String? { arrival.subject }

    /// Appends the action that is being received: as the client sent it, or as its type encodes it.
    func appendReceived(_ action: some Encodable, to out: inout [UInt8]) {
        if let line = arrival.line {
            out.append(contentsOf: line)
        } else {
            append(action, "an action", to: &out)
        }
    }

    /// Ends the session. Requests get 410 from the commit on.
    package func end(for token: UInt64) {
        guard case .awake(let machine) = life else { return answer(content(absence), token) }
        decideEnd(machine)
        answer(content(.ended), token)
    }

    private func decideEnd(_ machine: any Machine) {
        life = .ending(machine)
        beginRecord(.deleted)
    }

    // MARK: Ending by itself

    /// Ends the session because nobody uses it.
    func expire() {
        guard case .awake(let machine) = life else { return }
        // Otherwise searches find the session until the journal has removed all of its rows.
        removeExpiry()
        decideEnd(machine)
    }

    /// Ends the session with the present decision. If that is rolled back, so is the end.
    @usableFromInline
    func endsItself() {
        guard !attempt.isRollback else { return }
        attempt.endsSession = true
    }

    /// Ends the session if the present turn has decided that.
    ///
    /// Each turn calls this last, because no record of the session may follow its end.
    func endIfDecided() {
        guard attempt.endsSession else { return }
        attempt.endsSession = false
        if case .awake(let machine) = life { decideEnd(machine) }
    }
}
