internal import DequeModule
internal import JSONCoding
internal import Cyclers
internal import Reactors
internal import Storage

/// Runs one Cycler for one session.
///
/// Design: the Cycler reports every commit, activity and call as it happens; here they become
/// records and notes. While an action is in its synchronous part they gather first: an action that
/// fails there is refused and leaves no trace but the log's. The history is the states themselves:
/// a commit is arbitrary code, there is nothing to fold.
///
/// Invariant: the newest of `states` is that of the session's `history.newest.version`.
final class CyclerMachine<C: ActionCycler>: SourcedMachine
where C.Action: Codable, C.State: Codable, C.Activity: Encodable {
    /// One thing that a synchronous part has done.
    enum PendingEvent {
        case committed(C.State)
        case emitted([UInt8])
        case note(ActionLogLine.Kind, [UInt8], isOfSuccess: Bool)
        /// It has no JSON.
        case refused(ActionRefusal)
    }

    private let make: @Sendable () -> C
    /// Ties a Cycler to the one that it is a part of.
    private let link: (@Sendable (C, Session) -> Void)?
    private(set) var cycler: C
    var pulses: PulseRecorder<C.State>
    /// The Cycler's own, also where a stub shows another.
    var states: Deque<C.State>
    /// The version of the first of `states`.
    private var oldestVersion: UInt64
    var lastTag: UInt64
    unowned let session: Session
    /// Actions that wait for something.
    var runs: [ActionTag: Run] = [:]
    /// The action that is being carried out.
    private(set) var present = ActionTag.none
    /// Nil but while an action is carried out, from where it begins or resumes to where it waits.
    var pendingEvents: [PendingEvent]?
    /// Actions that were taken back and still wait: everything that they do when they continue is
    /// taken back, too.
    private var muted: Set<ActionTag> = []
    /// How the action that has just resumed ended, if it did.
    private var ending: Ending?
    private let checksState = !JSON.alwaysEncodes(C.State.self)

    private struct Ending {
        let error: (any Error)?
    }
    /// Nil until the session is stubbed; kept, for reading, when it is no longer.
    var recording: StubRecording<C.Action>?
    var isStubbed = false
    var stubVersions = StubVersions<C.State>()

    /// An action that waits for something.
    struct Run {
        let task: Task<Void, Never>
        /// Where it began, or decided something last. Until that is committed it does not continue.
        weak var step: Step?
    }

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
        let fold = try CyclerFold<C>(cycler.state.value, from: saved?.snapshot)
        if let saved { try fold.applyAll(of: saved) }
        states = [fold.state]
        oldestVersion = fold.version
        lastTag = saved?.lastAction ?? 0
        self.pulses.look(at: fold.state)
        seat(cycler, at: fold.state, fold.version)
    }

    /// Lets the Cycler continue from this state. While the session is stubbed it waits, and other
    /// changes to it are discarded.
    func seat(_ cycler: C, at state: C.State, _ version: UInt64) {
        cycler.restore(state, version: version)
        cycler.observe(by: isStubbed ? nil : self)
        link?(cycler, session)
    }

    var newestVersion: UInt64 { oldestVersion + UInt64(states.count - 1) }

    private func state(at version: UInt64) -> C.State {
        precondition(version >= oldestVersion && version <= newestVersion, "not a kept version")
        return states[Int(version - oldestVersion)]
    }

    var ownState: C.State { state(at: newestVersion) }

    func shownState(at version: UInt64) -> C.State { stubVersions[version] ?? state(at: version) }

    // MARK: Actions

    func receive(
        _ body: [UInt8], batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt? {
        guard JSON.isArray(body) else {
            let action = try decode(C.Action.self, from: body)
            guard mayApply else { return nil }
            var receipt = Receipt()
            if let error = begin(action, &receipt) { throw .init(error) }
            return receipt
        }
        let actions = try decode([C.Action].self, from: body)
        guard !actions.isEmpty else { throw .empty }
        guard actions.count <= batchLimit else { throw .tooMany(limit: batchLimit) }
        guard mayApply else { return nil }
        if let full { throw .init(full) }
        var receipt = Receipt(isBatch: true)
        for (index, action) in actions.enumerated() {
            let failure = begin(action, &receipt)
            if failure != nil { receipt.rejected.append(index) }
        }
        return receipt
    }

    /// Carries out an action's synchronous part. Returns why it failed, if it did; then nothing
    /// of it happened.
    ///
    /// While as many actions wait as may, none begins: whether it would wait is not known before.
    func begin(_ action: C.Action, _ receipt: inout Receipt) -> (any Error)? {
        if let full { return full }
        lastTag += 1
        let tag = ActionTag(lastTag)
        session.beginAction(lastTag)
        guard !isStubbed else {
            record(action, tag)
            return nil
        }
        enterReceived(action, tag)
        let (state, version) = (cycler.state.value, cycler.version)
        pendingEvents = []
        present = tag
        var outcome: Result<Void, any Error>?
        let run = ActionTask(LoopExecutor(tag, of: session))
        let task = run.begin(action, on: cycler) { [weak self] error in
            guard let self, runs[tag] != nil else {
                self?.muted.remove(tag)
                return outcome = error.map { .failure($0) } ?? .success(())
            }
            ending = Ending(error: error)
        }
        let done = pendingEvents ?? []
        pendingEvents = nil
        if case .failure(let error) = outcome {
            cycler.restore(state, version: version)
            refuse(done, action, error)
            present = .none
            return error
        }
        if let refusal = applyAll(done, over: state, version) {
            if outcome == nil {
                muted.insert(tag)
                task.cancel()
            }
            refuse(done, action, refusal)
            present = .none
            return refusal
        }
        if outcome == nil { wait(for: task, action, tag, &receipt) }
        present = .none
        return nil
    }

    /// Applies what an action did; if something of it has no JSON, nothing of it has happened.
    ///
    /// - Parameters:
    ///   - state: the Cycler's before.
    ///   - version: of that state.
    private func applyAll(_ pendingEvents: [PendingEvent], over state: C.State, _ version: UInt64)
        -> ActionRefusal?
    {
        let mark = session.attemptMark()
        let newest = newestVersion
        for event in pendingEvents where !session.attempt.isRefused { apply(event) }
        guard let refusal = session.takeRefusal() else { return nil }
        session.takeBack(to: mark)
        states.removeLast(Int(newestVersion - newest))
        pulses.look(at: shownState(at: newest))
        cycler.restore(state, version: version)
        return refusal
    }

    /// Why no action may begin; nil if one may.
    private var full: TooManyActionsRunning? {
        let limit = session.table.limits.runningActions
        // Those that were taken back and do not heed their cancellation are tasks too.
        return isStubbed || runs.count + muted.count < limit
            ? nil : TooManyActionsRunning(limit: limit)
    }

    private func wait(
        for task: Task<Void, Never>, _ action: C.Action, _ tag: ActionTag, _ receipt: inout Receipt
    ) {
        receipt.unsettled.append(tag)
        session.enter(.effectStarted, of: tag) { $0.append(contentsOf: "{}".utf8) }
        if session.keepsRecords {
            var content: [UInt8] = []
            session.appendReceived(action, to: &content)
            session.noteRunning(tag.number, content)
        }
        runs[tag] = Run(task: task, step: session.uncommitted.last)
    }

    func isSettled(_ actions: [ActionTag]) -> Bool {
        actions.allSatisfy { runs[$0] == nil }
    }

    /// An action that had waited is over.
    private func ended(_ tag: ActionTag, _ error: (any Error)?) {
        runs[tag] = nil
        guard session.mayDecide else { return }
        if let error {
            fail(String(describing: error), of: tag)
        } else {
            session.enter(.effectEnded, of: tag) { $0.append(contentsOf: "{}".utf8) }
        }
        settle(tag)
    }

    func settle(_ tag: ActionTag) {
        session.somethingSettled()
        if session.keepsRecords { session.noteSettled(tag.number) }
    }

    private func fail(_ error: String, of tag: ActionTag) {
        fail(at: "effect", nil, error, of: tag)
    }

    /// - Parameter source: its name, if it was one that failed.
    private func fail(at place: String, _ source: String?, _ error: String, of tag: ActionTag) {
        var content = Array("{\"place\":\"\(place)\"".utf8)
        if let source {
            content.append(contentsOf: ",\"source\":".utf8)
            JSON.appendString(source, to: &content)
        }
        content.append(contentsOf: ",\"error\":".utf8)
        JSON.appendString(error, to: &content)
        content.append(UInt8(ascii: "}"))
        session.recordFailure(at: place, error, content, of: tag)
    }

    // MARK: Deeds

    func apply(_ event: PendingEvent) {
        switch event {
        case .committed(let state): apply(state)
        case .emitted(let encoded): session.recordActivity(encoded, of: present)
        case .note(let kind, let content, _):
            session.enter(kind, of: present) { $0.append(contentsOf: content) }
            return
        case .refused(let refusal):
            return session.refuse(refusal)
        }
        runs[present]?.step = session.uncommitted.last
    }

    private func apply(_ state: C.State) {
        states.append(state)
        session.beginRecord(.mutation, of: present)
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
        if session.wantsStates { session.record(.state, encoded) }
        guard session.keepsRecords else { return }
        session.recordContent(encoded)
        session.considerSnapshot()
    }

    /// Logs the calls that were undone, and why.
    private func refuse(_ done: [PendingEvent], _ action: C.Action, _ error: any Error) {
        for case .note(let kind, let content, isOfSuccess: false) in done {
            session.enter(kind, of: present) { $0.append(contentsOf: content) }
        }
        session.enterReceived(.actionRejected, action, of: present) { out in
            out.append(contentsOf: ",\"error\":".utf8)
            JSON.appendString(String(describing: error), to: &out)
        }
    }

    // MARK: States

    func encodePulses(
        _ chosen: UInt64, at version: UInt64, in session: Session, to out: inout [UInt8]
    ) {
        pulses.encode(chosen, of: shownState(at: version), to: &out)
    }

    func encodeState(
        _ form: StateForm, at version: UInt64?, in session: Session, to out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        let version = version ?? newestVersion
        let state = form == .shown ? shownState(at: version) : state(at: version)
        try JSON.encode(state, into: &out, with: &session.table.buffers.space)
    }

    func encodeMutation(to version: UInt64, in session: Session, out: inout [UInt8]) {
        guard !stubVersions.contains(version) else { return }
        session.append(state(at: version), "the state", to: &out)
    }

    /// Nothing is folded.
    func endReplay() {}

    func forget(before version: UInt64, atOnce: Bool) -> Bool {
        guard version > oldestVersion else { return true }
        states.removeFirst(Int(version - oldestVersion))
        oldestVersion = version
        stubVersions.forget(before: version)
        return true
    }

    /// A waiting action is cancelled, and would continue with a state that was rolled back: then
    /// another Cycler replaces this one, and everything that the old one still does is discarded.
    func rollBack(to version: UInt64, in session: Session) {
        states.removeLast(Int(newestVersion - version))
        stubVersions.rollBack(to: version)
        pulses.look(at: shownState(at: version))
        let rolledBack = stopRuns()
        seat(cycler, at: state(at: version), version)
        for tag in rolledBack { settle(tag) }
    }

    /// Cancels what waits. The Cycler that it belongs to is left to it, and another one takes its
    /// place, which has no state yet. Answers which actions it was.
    func stopRuns() -> [ActionTag] {
        guard !runs.isEmpty else { return [] }
        abandon(cycler)
        cycler = make()
        let tags = runs.keys.sorted { $0.number < $1.number }
        cancelRuns()
        return tags
    }

    private func abandon(_ cycler: C) {
        cycler.observe(by: CyclerMachine<C>?.none)
        cycler.end()
    }

    private func cancelRuns() {
        for run in runs.values { run.task.cancel() }
        runs = [:]
    }

    // MARK: Life

    /// Whether an action changes anything is known only when it is carried out: it is received in
    /// each life, and an action that uses `updateIfChanged` leaves no version.
    func openSources(in session: Session, isNew: Bool) -> [SourceLaunch] {
        open(cycler.sources, in: session) { _ in true }
    }

    func receive(_ element: C.Source.Element) {
        guard case .action(let action) = element else { return }
        var receipt = Receipt()
        // Other errors are in the action log; this one keeps the action out of it.
        guard let error = begin(action, &receipt) as? TooManyActionsRunning else { return }
        fail(error.description, of: .none)
    }

    func ended(_ source: C.Source, failure: (any Error)?) {
        if let failure {
            return fail(at: "source", source.name, String(describing: failure), of: .none)
        }
        session.enterEnd(ofSource: source.name)
    }

    func end(in session: Session) {
        cancelRuns()
        abandon(cycler)
    }

    // MARK: What is saved

    var stateVersion: Int { C.stateVersion }

    var lastAction: UInt64 { lastTag }

    var isQuiet: Bool { runs.isEmpty && !isStubbed }

    func makeFold(from snapshot: Snapshot?) throws(RecoveryFault) -> any StateFold {
        try CyclerFold<C>(make().state.value, from: snapshot)
    }

    func recover(_ action: RunningAction, in session: Session) {
        session.noteSettled(action.action)
        do {
            let saved = try JSON.decode(C.Action.self, stored: action.content)
            switch cycler.recovery(of: saved) {
            case .runAgain where action.begun >= RunningAction.beginLimit:
                fail(Abandoned.tooOften, of: ActionTag(action.action))
            case .runAgain:
                session.runAgain(action) {
                    var receipt = Receipt()
                    if let error = begin(saved, &receipt) as? TooManyActionsRunning {
                        fail(error.description, of: ActionTag(action.action))
                    }
                }
            case .abandon:
                fail(Abandoned.runningAtEnd, of: ActionTag(action.action))
            }
        } catch {
            fail(Abandoned.unreadable(error), of: ActionTag(action.action))
        }
    }
}

extension CyclerMachine: ActionRunner {
    func step(of tag: ActionTag) -> Step? { runs[tag]?.step }

    /// Its events are collected and applied when it waits again, or is over: if something of that
    /// has no JSON, the action fails, and nothing that it did since it last waited has happened.
    func carryOn(_ tag: ActionTag, _ act: () -> Void) {
        let (state, version) = (cycler.state.value, cycler.version)
        // Read first: `muted` forgets the action when it ends.
        let isMuted = muted.contains(tag)
        present = tag
        pendingEvents = []
        act()
        let done = pendingEvents ?? []
        pendingEvents = nil
        let ending = ending
        self.ending = nil
        defer { present = .none }
        guard !isMuted else { return cycler.restore(state, version: version) }
        guard session.mayDecide else {
            runs[tag] = nil
            return
        }
        if let refusal = applyAll(done, over: state, version) {
            if ending == nil, let run = runs[tag] {
                muted.insert(tag)
                run.task.cancel()
            }
            ended(tag, refusal)
        } else if let ending {
            ended(tag, ending.error)
        }
    }
}

/// As many actions of a session's Cycler wait as may; nothing of one more was carried out.
struct TooManyActionsRunning: Error, CustomStringConvertible {
    let limit: Int

    var description: String { "\(limit) actions of the session wait for something already" }
}

extension ActionRefusal {
    fileprivate init(_ error: any Error) {
        switch error {
        case let refusal as ActionRefusal: self = refusal
        case is CyclerParentMissing: self = .parentMissing
        case let error as TooManyActionsRunning: self = .tooManyRunning(limit: error.limit)
        default: self = .failed(String(describing: error))
        }
    }
}
