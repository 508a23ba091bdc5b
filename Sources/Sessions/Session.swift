internal import JSONCoding
internal import Reactors
package import Storage

/// One running instance of a reactor, with its own state and its own total order.
///
/// Design: *decide inside, act outside*. A call decides at once, in memory: the machine's state
/// and the history run ahead of the journal. Decisions gather in the newest step of `uncommitted`.
/// When the journal has the step, ``commit(_:isTaken:)`` advances `history.committed`, and only then
/// replies are sent and events are framed. A state that is read before that is captured at once, and
/// shown when it is committed.
@usableFromInline
package final class Session {
    package let id: SessionID
    package let registration: Registration
    package let generation: Generation
    /// Invariant: the table lets go of its sessions before it is let go of itself.
    let table: SessionTable
    /// Whether the journal wants records; asked for every record.
    @usableFromInline
    let keepsRecords: Bool
    let key: SessionKey

    /// The machine is part of the life, so that code which runs after a wait cannot meet a session
    /// without one.
    enum Life {
        /// The machine is being made. Of a new session failures are recorded then.
        case starting(isNew: Bool)
        case awake(any Machine)
        /// The session's end is decided and not committed yet.
        case ending(any Machine)
        case ended
        /// The state is in the journal alone; only subscribers are still here.
        case asleep

        var isAsleep: Bool {
            switch self {
            case .starting, .asleep: true
            case .awake, .ending, .ended: false
            }
        }
    }

    private(set) var life = Life.asleep {
        didSet {
            guard life.isAsleep != oldValue.isAsleep else { return }
            table.sessions.sleepChanged(of: self, life.isAsleep)
        }
    }
    /// Why a constant: a reference that may be set is retained for each use.
    let history = History()
    /// Which stay in memory this is, of all that the table has seen; 0 while it is asleep.
    private(set) var incarnation: UInt64 = 0
    /// Only where the journal has an archive.
    let persistence: PersistenceState?
    /// Steps that are not committed, oldest first; replies attach to the last.
    let uncommitted = StepQueue()
    var streams = SessionStreams()
    var tasks = EffectTasks()
    var waits = SettledWaits()
    var attempt = Attempt()
    /// Empty but while an action is received.
    var arrival = Arrival()
    var weighing = Weighing()
    var stateMeter = StateMeter()
    /// Made for the first request that has one. Used with `if let`: an optional chain is an access that
    /// may be checked at run time (ADR-0013), and each answer looks here.
    var keys: IdempotencyKeys?
    var activities = ActivityNames()

    /// - Parameters:
    ///   - saved: what it begins with; nil: the initial state.
    ///   - isNew: false if the journal has it already.
    init(
        _ id: SessionID, _ registration: Registration, _ generation: Generation,
        _ table: SessionTable, saved: SavedSession? = nil, isNew: Bool
    ) throws(RecoveryFault) {
        self.id = id
        self.registration = registration
        self.generation = generation
        self.table = table
        self.keepsRecords = table.journal.keepsRecords
        self.key = SessionKey(session: id.text, generation: generation.text)
        self.persistence = table.journal.archive == nil ? nil : PersistenceState(saved)
        try restore(saved, isNew: isNew)
    }

    /// Comes back into memory; its subscribers have stayed.
    func wake(_ saved: SavedSession) throws(RecoveryFault) {
        try restore(saved, isNew: false)
        persistence?.wake(saved)
        // Subscribers of the life before have not seen records that were committed without its knowledge.
        for stream in streams.all {
            let place = committedPosition(for: stream.selection)
            guard stream.framedThrough < place else { continue }
            if stream.selection.readsStates {
                stream.showsPart(of: state(at: history.committed.number))
            }
            stream.restart(at: place)
        }
    }

    private func restore(_ saved: SavedSession?, isNew: Bool) throws(RecoveryFault) {
        history.restart(at: saved?.end ?? HistoryEnd(), keepsNotes: keepsRecords)
        incarnation = table.sessions.nextIncarnation()
        begins(.rebuilding)
        defer { ends() }
        life = .starting(isNew: isNew)
        do throws(RecoveryFault) {
            life = .awake(try registration.makeMachine(self, saved))
        } catch {
            life = .asleep
            throw error
        }
        table.eviction.add(self)
    }

    /// The state leaves memory: whatever comes for this incarnation finds nothing.
    func fallAsleepAtOnce() {
        history.restart(at: history.committed, keepsNotes: keepsRecords)
        table.eviction.remove(self)
        life = .asleep
        incarnation = 0
    }

    /// The end is committed, or the process ends.
    func end(_ act: () -> Void) {
        table.eviction.remove(self)
        let machine = machine
        life = .ended
        machine?.end(in: self)
        act()
        incarnation = 0
    }

    /// The end was decided, and its commit failed.
    func takeBackEnd() {
        if case .ending(let machine) = life { life = .awake(machine) }
    }

    /// The reply to a request that comes, or comes back, when the session is not running.
    var absence: Reply.Kind {
        switch life {
        case .ending, .ended: .gone
        case .starting, .awake, .asleep: .failed(.leftMemory)
        }
    }

    package var position: Position { Position(generation, history.committed.number) }
    package var version: UInt64 { history.committed.version }

    // MARK: Requests

    /// The session's creation is its record 0; nothing is answered before it is committed.
    func create(for token: UInt64) {
        let step = step()
        step.creates = true
        if keepsRecords {
            table.records.finish()
            // Records that reading the initial state wrote follow the creation.
            let left = step.batch.runs
            step.batch.runs = []
            let start = HistoryEnd(version: history.newest.version)
            table.records.begin(.created, at: start, action: .none, time: table.time, in: step)
            table.records.finish()
            for run in left { step.batch.runs[0].append(run) }
        }
        if persistence != nil { takeSnapshot() }
        let opened = machine?.openSources(in: self, isNew: history.newest.version == 0)
        tasks.open(opened ?? [])
        answer(content(.created(isNew: true)), token)
    }

    /// Replies to a request to create a session that exists already.
    package func acknowledgeExisting(for token: UInt64) {
        guard isRunning else { return answer(content(absence), token) }
        answer(content(.created(isNew: false)), token)
    }

    /// Receives the actions of one request. The answer comes when they are committed, or, if it
    /// waits, when what they started has ended.
    package func post(_ post: ActionPost) throws(ActionRefusal) {
        guard isRunning else { return answer(content(absence), post.token) }
        guard table.commits.hasRoom else { throw .overloaded }
        table.eviction.recordUse(of: self)
        if let key = post.key {
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
        arrival.traceparent = post.traceparent
        arrival.line = keepsNotes || keepsRecords ? JSON.oneLine(post.body) : nil
        weighing.arrived = post.body.count
        stateMeter.bring(post.body.count)
        begins(.action, machine.lastAction + 1)
        defer {
            ends()
            arrival = Arrival()
            weighing.arrived = nil
        }
        let mayApply =
            post.condition?.holds(at: Position(generation, history.newest.number)) ?? true
        guard
            let receipt = try machine.receive(
                post.body, batchLimit: table.limits.batch, mayApply: mayApply, in: self)
        else { return answer(content(.conditionFailed), post.token) }
        if let step = uncommitted.last { table.commits.charge(post.body.count, to: step) }
        let content = content(
            .received(rejected: receipt.rejected, isBatch: receipt.isBatch))
        if post.waits, !receipt.unsettled.isEmpty {
            if let keys {
                KeyedRequests(session: self, keys: keys).storePreliminary(content, for: post.token)
            }
            waits.add(
                SettledWaits.Wait(
                    token: post.token, actions: receipt.unsettled, receipt: receipt,
                    step: uncommitted.last))
        } else {
            answer(content, post.token)
        }
        // A cancellation among the actions settles others, or even these.
        if attempt.hasSettled { answerSettled() }
    }

    /// Appends the action that is being received: as it came, or as its type is encoded.
    func appendReceived(_ action: some Encodable, to out: inout [UInt8]) {
        if let line = arrival.line {
            out.append(contentsOf: line)
        } else {
            append(action, "an action", to: &out)
        }
    }

    /// Reads the state as it is now, or as it was at `version`.
    package func read(version: UInt64?, for token: UInt64) {
        guard isRunning else { return answer(content(absence), token) }
        table.eviction.recordUse(of: self)
        StateReader(session: self).read(version: version, for: token)
    }

    /// Reads the state at a committed version, as `reduce` made it; nil: the present one.
    package func export(
        _ version: UInt64?, then act: @escaping (Result<Snapshot, ExportFault>) -> Void
    ) {
        StateReader(session: self).export(version, then: act)
    }

    /// Ends the session; from the commit on it is gone.
    package func end(for token: UInt64) {
        guard case .awake(let machine) = life else { return answer(content(absence), token) }
        life = .ending(machine)
        beginRecord(.deleted)
        answer(content(.ended), token)
    }
}
