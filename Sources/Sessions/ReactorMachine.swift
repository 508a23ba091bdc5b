internal import Feeds
internal import JSONCoding
public import Reactors
internal import Storage

/// Runs one reactor's core for one session.
///
/// Design: pulses are found once, at registration. A mutation compares their marks with those after
/// the mutation before it.
@usableFromInline
final class ReactorMachine<R: Reactor>: TypedMachine
where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Encodable {
    @usableFromInline
    let reactor: R
    @usableFromInline
    let core: ReactorCore<R>
    @usableFromInline
    var pulses: PulseRecorder<R.State>
    @usableFromInline
    let hasPulses: Bool
    /// Invariant: the newest version is `core.version`, and its state is `core.state`.
    @usableFromInline
    var versions: ReactorVersions<R>
    /// `versions.oldestVersion`, for a test that each commit makes. Why a copy: `versions` is used
    /// by code that is inlined elsewhere, so that each access is checked at run time (ADR-0013).
    private var oldestVersion: UInt64
    /// The newest action's number. The inlined code reads it through calls.
    var lastTag: UInt64 = 0
    /// The session of the present call: the core calls its observer during a call of the session.
    @usableFromInline
    unowned let session: Session
    /// The types whose values may have no JSON, so that each value is encoded as it is made.
    @usableFromInline
    let checks: ReactorChecks
    /// Nil unless the reactor counts its work.
    @usableFromInline
    let work: RequestWork?
    /// The newest old version whose decoration failed. A failure is logged once per version.
    var undecorated: UInt64?
    private let clock: any Clock<Duration>
    private let compiled: Compiled

    /// - Parameter saved: where to continue; nil: from the initial state.
    init(
        _ reactor: R, pulses: [PulseField<R.State>], session: Session, clock: any Clock<Duration>,
        saved: SavedSession?, compiled: Compiled
    ) throws(RecoveryFault) {
        self.reactor = reactor
        work = (reactor as? any MeteredReactor)?.work
        self.pulses = PulseRecorder(pulses)
        hasPulses = !pulses.isEmpty
        self.session = session
        self.clock = clock
        self.compiled = compiled
        checks = compiled.checks.knowing(keepsRecords: session.keepsRecords)
        let fold = try ReactorFold(reactor, pulses: pulses, from: saved?.snapshot)
        if let saved { try fold.applyAll(of: saved, in: R.stateVersion) }
        core = ReactorCore(reactor: reactor, state: fold.state, version: fold.version)
        versions = ReactorVersions(fold.state, version: fold.version)
        oldestVersion = fold.version
        lastTag = saved?.lastAction ?? 0
        lookAtPulses()
    }

    // MARK: Actions

    func receive(
        _ body: JSONBody, batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt? {
        try compiled.receive(self, body, batchLimit, mayApply, session)
    }

    func isSettled(_ actions: [ActionTag]) -> Bool {
        actions.allSatisfy { core.isSettled($0) }
    }

    /// A step that is not committed yet has no task, and does not run.
    func runningEffects(in session: Session) -> [SessionRuntime.Effect] {
        core.runningSteps.compactMap { run, id, action in
            session.tasks.start(of: run).map {
                SessionRuntime.Effect(
                    step: run.number, id: id?.name, action: action.number, since: $0)
            }
        }
    }

    // MARK: States

    private var states: ReactorStates<R> { ReactorStates(machine: self) }

    func encodePulses(
        _ chosen: UInt64, at version: UInt64, in session: Session, to out: inout [UInt8]
    ) {
        pulses.encode(chosen, of: states.shown(at: version), to: &out)
    }

    func encodeState(
        _ form: StateForm, at version: UInt64?, in session: Session, to out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        if let failure = states.encode(form, at: version, to: &out) { throw failure }
    }

    /// The decorated state, for the streams of states. Encoded before the mutation's record begins:
    /// a decoration without JSON makes a record of its own.
    @usableFromInline
    func encodedState(_ state: R.State) -> [UInt8] {
        var encoded: [UInt8] = []
        if let failure = states.encode(state, to: &encoded) {
            session.refuse(.notEncodable("the state", failure))
        }
        return encoded
    }

    func encodeMutation(to version: UInt64, in session: Session, out: inout [UInt8]) {
        guard let mutation = versions.mutation(to: version) else { return }
        session.append(mutation, "a mutation", to: &out)
    }

    func endReplay() { versions.endReplay() }

    func forget(before version: UInt64, atOnce: Bool) -> Bool {
        guard version > oldestVersion else { return false }
        // Without `atOnce` only in batches: removing the first element of an array
        // moves all others.
        let count = version - oldestVersion
        guard atOnce || (count >= 256 && count >= (core.version - oldestVersion) / 2) else {
            return false
        }
        compiled.forget(&versions, version, reactor)
        oldestVersion = version
        return true
    }

    func rollBack(to version: UInt64, in session: Session) {
        var state = core.state
        if version < core.version { state = versions.rollBack(to: version, by: reactor) }
        core.restore(state: state, version: version, observer: self)
        lookAtPulses()
    }

    private func lookAtPulses() {
        guard !pulses.isEmpty else { return }
        pulses.look(at: core.visibleState(observer: self))
    }

    // MARK: Life

    func openSources(in session: Session, isNew: Bool) -> [SourceLaunch] {
        open(core.makeSources(), in: session, isNew: isNew) { element in
            isNew || core.wouldChange(by: element, isSame: ReactorStates<R>.isSame)
        }
    }

    func end(in session: Session) {
        core.end(observer: self)
    }

    // MARK: Reports of tasks, on the session's loop

    func receive(_ mutation: R.Mutation, from run: EffectRun<R>) -> Bool {
        core.receive(mutation, from: run, observer: self)
    }

    func receive(_ activity: R.Activity, from run: EffectRun<R>) -> Bool {
        core.receive(activity: activity, from: run, observer: self)
    }

    func receive(fromSource mutation: R.Mutation) {
        core.receive(fromSource: mutation, observer: self)
    }

    func receiveAlone(_ action: R.Action) -> (any Error)? { receiveAlone(action, as: nil) }

    /// If the reactor refuses the action, it is rolled back like a request. If a mutation has no
    /// JSON, only that mutation is dropped (ADR-0016).
    ///
    /// - Parameter repeated: the number of an action that is received again; nil: a new action,
    ///   which gets the next number.
    /// - Returns: the refusal.
    func receiveAlone(_ action: R.Action, as repeated: ActionTag?) -> (any Error)? {
        let (mark, last) = (session.attemptMark(), lastTag)
        let isMarked = core.beginAttempt()
        beginWork()
        let tag = repeated ?? nextTag()
        switch core.receive(action, tag: tag, subject: session.subject(), observer: self) {
        case .accepted(_, let isSettled):
            if !isSettled, session.keepsRecords { noteRunning(action, tag) }
        case .rejected:
            enterRejected(action, tag)
        case .ended:
            break
        case .refused:
            guard let refusal = core.takeRefusal() else { break }
            takeBackRequest(to: mark, lastTag: last)
            return refusal
        }
        if isMarked { core.endAttempt() }
        return nil
    }

    func ended(_ run: EffectRun<R>, failure: (any Error)?) {
        guard let again = core.ended(run, failure: failure, observer: self) else { return }
        receiveAgain(again)
    }

    func ended(_ source: R.Source, failure: (any Error)?) {
        core.ended(source: source, failure: failure, observer: self)
    }
}

// Turns the core's decisions into records and orders of the session's present step.
extension ReactorMachine: ReactorCoreObserver {
    @usableFromInline
    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {
        var encoded: [UInt8] = []
        do {
            try JSON.encode(activity, into: &encoded)
        } catch {
            session.refuse(.notEncodable("an activity", error))
            if !session.attempt.isRequest { reportRefusal(of: action) }
            return
        }
        session.recordActivity(encoded, of: action)
    }

    @usableFromInline
    func failed(_ failure: ReactorFailure) {
        if failure.isOfSynchronousPart(of: ActionTag(lastTag)),
            let first = session.arrival.posted?.first, lastTag >= first
        {
            session.arrival.record(failure.error, ofAction: Int(clamping: lastTag - first))
        }
        log.failed(
            at: failure.place, String(describing: failure.error), step: failure.run,
            id: failure.effectID, source: failure.source, of: failure.action)
    }

    @usableFromInline
    func start(_ run: EffectRun<R>) {
        let mailbox = SessionMailbox<ReactorMachine<R>>(session)
        let clock = clock
        let traced = session.traced(run.action, id: run.effectID)
        session.order(
            .start(run.id) {
                let work = traced.map { $0.trace.begin($0.effect) }
                let start = { mailbox.task(for: run, clock: clock, work) }
                return work?.start(start) ?? start()
            })
        log.started(run.id, run.effectID, of: run.action)
    }

    @usableFromInline
    func schedule(
        _ action: R.Action, as name: EffectID, _ time: TimerTime, by tag: ActionTag
    ) -> (any Error)? {
        var content: [UInt8] = []
        do {
            try JSON.encode(action, into: &content)
        } catch {
            return ActionRefusal.notEncodable("the action of a timer", error)
        }
        guard content.count <= session.table.limits.timerBytes,
            session.admitsTimer(content.count)
        else { return EffectLimitReached.timerAction }
        return session.setTimer(name, time, content, by: tag) ? nil : EffectLimitReached.timers
    }

    @usableFromInline
    func cancelTimer(_ name: EffectID, by action: ActionTag) {
        session.cancelTimer(name, by: action)
    }

    @usableFromInline
    func ends(by action: ActionTag) { session.endsItself() }

    @usableFromInline
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {
        session.order(.cancel(run))
        log.cancelled(run, effectID, of: action)
    }

    @usableFromInline
    func ended(_ run: RunID, named effectID: EffectID?, action: ActionTag, hasFailed: Bool) {
        session.tasks.remove(run)
        // A failed step has a record already.
        if !hasFailed { log.ended(run, effectID, of: action) }
    }

    @usableFromInline
    func settled(_ action: ActionTag) {
        session.somethingSettled()
        session.traces.remove(action.number)
        if session.keepsRecords { session.noteSettled(action.number) }
    }
}
