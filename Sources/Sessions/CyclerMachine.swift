internal import Feeds
internal import JSONCoding
internal import Cyclers
internal import Reactors
internal import Storage

/// Runs one Cycler for one session.
///
/// Design: the Cycler reports every commit, activity and call as it happens; the machine makes
/// records and notes of them. During a turn the reports are gathered first: an action that fails is
/// refused and leaves only notes in the log.
final class CyclerMachine<C: ActionCycler>: TypedMachine
where C.Action: Codable, C.State: Codable, C.Activity: Encodable {
    typealias Turn = CyclerTurn<C.State>

    private let make: @Sendable () -> C
    /// Links a Cycler to its parent.
    private let link: (@Sendable (C, Session) -> Void)?
    private(set) var cycler: C
    var pulses: PulseRecorder<C.State>
    /// Invariant: the newest one is the session's `history.newest.version`.
    var versions: CyclerVersions<C.State>
    var lastTag: UInt64
    unowned let session: Session
    private(set) var waiting = WaitingActions()
    private(set) var turn = Turn.none
    private let checksState = !JSON.alwaysEncodes(C.State.self)
    var stub = CyclerStub<C.Action>()

    /// - Parameter saved: where to continue; nil: from the initial state.
    init(
        _ make: @escaping @Sendable () -> C, pulses: [PulseField<C.State>], session: Session,
        saved: SavedSession?, link: (@Sendable (C, Session) -> Void)? = nil
    ) throws(RecoveryFault) {
        self.make = make
        self.link = link
        self.session = session
        self.pulses = PulseRecorder(pulses)
        cycler = make()
        let fold = try CyclerFold<C>(
            cycler.state.value, pulses: pulses, from: saved?.snapshot)
        if let saved { try fold.applyAll(of: saved, in: C.stateVersion) }
        versions = CyclerVersions(fold.state, version: fold.version)
        lastTag = saved?.lastAction ?? 0
        self.pulses.look(at: fold.state)
        resume(cycler, at: fold.state, fold.version)
    }

    /// Lets the Cycler continue from this state. While the session is stubbed the Cycler waits, and
    /// its changes are discarded.
    private func resume(_ cycler: C, at state: C.State, _ version: UInt64) {
        cycler.restore(state, version: version)
        cycler.observe(by: stub.isOn ? nil : self)
        link?(cycler, session)
    }

    /// Lets the Cycler continue from its newest state.
    func resumeCycler() { resume(cycler, at: versions.newestState, versions.newestVersion) }

    // MARK: Actions

    func receive(
        _ body: JSONBody, batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt? {
        guard JSON.isArray(body) else {
            let action = try decode(C.Action.self, from: body)
            guard mayApply else { return nil }
            var receipt = Receipt()
            if let error = begin(action, &receipt) { throw .init(error) }
            return receipt
        }
        guard !JSON.isArray(body, longerThan: batchLimit) else {
            throw .tooMany(limit: batchLimit)
        }
        let actions = try decode([C.Action].self, from: body)
        guard !actions.isEmpty else { throw .empty }
        guard mayApply else { return nil }
        if let full { throw .init(full) }
        var receipt = Receipt(isBatch: true)
        for (index, action) in actions.enumerated() {
            guard let error = begin(action, &receipt) else { continue }
            receipt.rejected.append(index)
            session.arrival.record(error, ofAction: index)
        }
        return receipt
    }

    /// Carries out an action's first turn.
    ///
    /// While the maximal number of actions wait, no action begins: whether it would wait is not
    /// known before.
    ///
    /// - Returns: the error if the action failed; then it has changed nothing.
    func begin(_ action: C.Action, _ receipt: inout Receipt) -> (any Error)? {
        if let full { return full }
        lastTag += 1
        let tag = ActionTag(lastTag)
        session.beginAction(lastTag)
        guard !stub.isOn else {
            recordForStub(action, tag)
            return nil
        }
        let mark = session.attemptMark()
        session.enterReceived(.actionReceived, action, of: tag)
        turn = Turn(of: tag)
        defer { turn = .none }
        let (state, version) = (cycler.state.value, cycler.version)
        let (task, outcome) = start(action, tag)
        let events = turn.removeEvents()
        if case .failure(let error) = outcome {
            cycler.restore(state, version: version)
            if error is Refusal {
                session.takeBack(to: mark)
                lastTag -= 1
            } else {
                refuse(events, action, error)
            }
            return error
        }
        if let refusal = applyAll(events, over: state, version) {
            if outcome == nil {
                waiting.mute(tag)
                task.cancel()
            }
            refuse(events, action, refusal)
            return refusal
        }
        if outcome == nil { wait(for: task, action, tag, &receipt) }
        return nil
    }

    /// - Returns: the action's task, and its outcome; nil if it waits.
    private func start(
        _ action: C.Action, _ tag: ActionTag
    ) -> (Task<Void, Never>, Result<Void, any Error>?) {
        var outcome: Result<Void, any Error>?
        let run = ActionTask(LoopExecutor(tag, of: session))
        let (subject, cycler) = (session.subject(), cycler)
        let work = session.traced(tag).map { $0.trace.begin($0.effect) }
        let ended: ((any Error)?) -> Void = { [weak self] error in
            work?.end(error)
            if let self, waiting.isRunning(tag) {
                turn.end = Turn.End(error: error)
            } else {
                self?.waiting.removeMuted(tag)
                outcome = error.map { .failure($0) } ?? .success(())
            }
        }
        let start = { run.begin(action, by: subject, on: cycler, ended: ended) }
        let task = work?.start(start) ?? start()
        session.traces.remove(tag.number)
        return (task, outcome)
    }

    /// Applies the events of a turn, or none of them if one has no JSON.
    ///
    /// - Parameters:
    ///   - state: the Cycler's state before the turn.
    ///   - version: of that state.
    private func applyAll(
        _ events: [Turn.Event], over state: C.State, _ version: UInt64
    ) -> ActionRefusal? {
        let mark = session.attemptMark()
        let newest = versions.newestVersion
        for event in events where !session.attempt.isRefused { apply(event) }
        guard let refusal = session.takeRefusal() else { return nil }
        session.takeBack(to: mark)
        versions.rollBack(to: newest)
        pulses.look(at: versions.shownState(at: newest))
        cycler.restore(state, version: version)
        return refusal
    }

    /// Why no action may begin; nil if one may.
    private var full: TooManyActionsRunning? {
        let limit = session.table.limits.runningActions
        return stub.isOn || waiting.count < limit ? nil : TooManyActionsRunning(limit: limit)
    }

    private func wait(
        for task: Task<Void, Never>, _ action: C.Action, _ tag: ActionTag, _ receipt: inout Receipt
    ) {
        receipt.unsettled.append(tag)
        log.started(of: tag)
        if session.keepsRecords {
            var content: [UInt8] = []
            session.appendReceived(action, to: &content)
            session.noteRunning(tag.number, content)
        }
        waiting.add(tag, task, step: session.uncommitted.last, at: session.table.time)
    }

    func isSettled(_ actions: [ActionTag]) -> Bool {
        !actions.contains(where: waiting.isRunning)
    }

    func runningEffects(in session: Session) -> [SessionRuntime.Effect] {
        waiting.starts.map { SessionRuntime.Effect(action: $0.number, since: $1) }
    }

    /// An action that had waited has ended.
    private func ended(_ tag: ActionTag, _ error: (any Error)?) {
        waiting.remove(tag)
        guard session.mayDecide else { return }
        if let error {
            log.failed(at: .effect, String(describing: error), of: tag)
        } else {
            log.ended(of: tag)
        }
        settle(tag)
    }

    func settle(_ tag: ActionTag) {
        session.somethingSettled()
        if session.keepsRecords { session.noteSettled(tag.number) }
    }

    // MARK: Events

    /// Gathers an event of the present turn; outside of turns, applies it at once. Nothing is
    /// applied after the session's end.
    func record(_ event: Turn.Event) {
        guard !turn.append(event), session.mayDecide else { return }
        apply(event)
    }

    private func apply(_ event: Turn.Event) {
        switch event {
        case .committed(let state): apply(state)
        case .emitted(let encoded): session.recordActivity(encoded, of: turn.action)
        case .note(let kind, let content, _):
            session.enter(kind, of: turn.action) { $0.append(contentsOf: content) }
            return
        case .refused(let refusal):
            return session.refuse(refusal)
        }
        waiting.setStep(session.uncommitted.last, of: turn.action)
    }

    private func apply(_ state: C.State) {
        versions.append(state)
        session.beginRecord(.mutation, of: turn.action)
        if !pulses.isEmpty { pulses.record(state, in: session) }
        guard session.wantsStates || session.keepsRecords || checksState else {
            if session.weighsNewest() { session.weigh(state) }
            if session.isMeasureDue() { session.measure(state) }
            return
        }
        var encoded: [UInt8] = []
        do {
            try JSON.encode(state, into: &encoded, with: &session.table.buffers.space)
        } catch {
            return session.refuse(.notEncodable("the state", error))
        }
        guard session.admits(stateBytes: encoded.count) else { return }
        session.history.weigh(encoded.count)
        session.countMade(encoded.count)
        if session.wantsStates { session.record(.state, encoded) }
        guard session.keepsRecords else { return }
        session.recordContent(encoded)
        session.considerSnapshot()
    }

    /// Logs the calls of a turn that has failed, and the error.
    private func refuse(_ events: [Turn.Event], _ action: C.Action, _ error: any Error) {
        for case .note(let kind, let content, isOfSuccess: false) in events {
            session.enter(kind, of: turn.action) { $0.append(contentsOf: content) }
        }
        session.enterReceived(.actionRejected, action, of: turn.action) { out in
            out.append(contentsOf: ",\"error\":".utf8)
            JSON.appendString(String(describing: error), to: &out)
        }
    }

    // MARK: States

    func encodePulses(
        _ chosen: UInt64, at version: UInt64, in session: Session, to out: inout [UInt8]
    ) {
        pulses.encode(chosen, of: versions.shownState(at: version), to: &out)
    }

    func encodeState(
        _ form: StateForm, at version: UInt64?, in session: Session, to out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        let version = version ?? versions.newestVersion
        let state =
            form == .shown
            ? versions.shownState(at: version) : versions.ownState(at: version)
        try JSON.encode(state, into: &out, with: &session.table.buffers.space)
    }

    func encodeMutation(to version: UInt64, in session: Session, out: inout [UInt8]) {
        guard !versions.isOfStub(version) else { return }
        session.append(versions.ownState(at: version), "the state", to: &out)
    }

    /// No state is folded.
    func endReplay() {}

    func forget(before version: UInt64, atOnce: Bool) -> Bool {
        versions.forget(before: version)
        return true
    }

    /// A waiting action is cancelled, but would continue with a state that was rolled back. So
    /// another Cycler replaces this one, and later changes to the old one are discarded.
    func rollBack(to version: UInt64, in session: Session) {
        versions.rollBack(to: version)
        pulses.look(at: versions.shownState(at: version))
        let cancelled = cancelWaiting()
        resumeCycler()
        for tag in cancelled { settle(tag) }
    }

    /// Cancels the waiting actions. They keep their Cycler; a new one without a state replaces it.
    ///
    /// - Returns: the cancelled actions.
    func cancelWaiting() -> [ActionTag] {
        guard !waiting.isQuiet else { return [] }
        abandon(cycler)
        cycler = make()
        return cancelTasks()
    }

    private func abandon(_ cycler: C) {
        cycler.observe(by: CyclerMachine<C>?.none)
        cycler.end()
    }

    @discardableResult
    private func cancelTasks() -> [ActionTag] {
        let cancelled = waiting.removeAll()
        for (_, task) in cancelled { task.cancel() }
        return cancelled.map(\.action)
    }

    // MARK: Life

    /// Whether an action changes the state is known only when it is carried out. So a session that
    /// wakes receives the present value of each sequence, and of each topic whose value it has not
    /// read yet. An action that uses `updateIfChanged` then makes no version.
    func openSources(in session: Session, isNew: Bool) -> [SourceLaunch] {
        open(cycler.sources, in: session, isNew: isNew) { _ in true }
    }

    /// A Cycler has no mutations.
    func receive(fromSource mutation: Never) {}

    func receiveAlone(_ action: C.Action) -> (any Error)? {
        var receipt = Receipt()
        // The log has an action with any other error.
        let error = begin(action, &receipt)
        return error is TooManyActionsRunning || error is Refusal ? error : nil
    }

    func ended(_ source: C.Source, failure: (any Error)?) {
        if let failure {
            return log.failed(
                at: .source, String(describing: failure), source: source.name, of: .none)
        }
        session.enterEnd(ofSource: source.name)
    }

    func end(in session: Session) {
        cancelTasks()
        abandon(cycler)
    }

    // MARK: What is saved

    var stateVersion: Int { C.stateVersion }

    var tags: Tags { C.tags(of: versions.newestState) }

    var lastAction: UInt64 { lastTag }

    var isQuiet: Bool { waiting.isQuiet && !stub.isOn }

    func recovery(of action: C.Action, after attempts: Int) -> Recovery {
        cycler.recovery(of: action)
    }

    /// Receives the action at once, under a new number: a Cycler's actions have no pauses.
    func receiveAgain(_ action: C.Action, _ saved: RunningAction, after time: Duration) {
        session.noteSettled(saved.action)
        receiveAlone(action, for: ActionTag(saved.action))
    }
}

extension CyclerMachine: ActionRunner {
    func step(of tag: ActionTag) -> Step? { waiting.step(of: tag) }

    /// The events of the turn are applied when the action waits again, or has ended. If one of them
    /// has no JSON, the action fails, and the turn changes nothing.
    func carryOn(_ tag: ActionTag, _ act: () -> Void) {
        let (state, version) = (cycler.state.value, cycler.version)
        // Before `act`, which removes the action from the muted ones if it ends.
        let isMuted = waiting.isMuted(tag)
        turn = Turn(of: tag)
        defer { turn = .none }
        act()
        let events = turn.removeEvents()
        guard !isMuted else { return cycler.restore(state, version: version) }
        guard session.mayDecide else {
            waiting.remove(tag)
            return
        }
        if let refusal = applyAll(events, over: state, version) {
            if turn.end == nil, let task = waiting.remove(tag) {
                waiting.mute(tag)
                task.cancel()
            }
            ended(tag, refusal)
        } else if let end = turn.end {
            ended(tag, end.error)
        }
    }
}

/// The maximal number of actions of a session's Cycler wait for something. The action
/// was not begun.
struct TooManyActionsRunning: Error, CustomStringConvertible {
    let limit: Int

    var description: String { "\(limit) actions of the session are already waiting" }
}

extension ActionRefusal {
    fileprivate init(_ error: any Error) {
        switch error {
        case let refusal as ActionRefusal: self = refusal
        case let refusal as Refusal: self = .refused(refusal, at: nil)
        case is CyclerParentMissing: self = .parentMissing
        case let error as TooManyActionsRunning: self = .tooManyRunning(limit: error.limit)
        default: self = .failed(String(describing: error))
        }
    }
}
