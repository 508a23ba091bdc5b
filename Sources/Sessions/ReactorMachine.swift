internal import JSONCoding
public import Reactors
internal import Storage

/// Runs one reactor's core for one session.
///
/// Design: pulses are found once, at registration; a mutation compares their marks with those of
/// the mutation before. The history is one state, the oldest that is kept, and the mutations
/// since: any kept version is a fold of it, and forgetting is one more fold.
@usableFromInline
final class ReactorMachine<R: Reactor>: SourcedMachine
where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Encodable {
    @usableFromInline
    let reactor: R
    @usableFromInline
    let core: ReactorCore<R>
    @usableFromInline
    var pulses: PulseRecorder<R.State>
    @usableFromInline
    let hasPulses: Bool
    /// Invariant: `oldest` reduced by `mutations`, in order, is `core.state`.
    @usableFromInline
    var oldest: R.State
    private(set) var oldestVersion: UInt64
    @usableFromInline
    var mutations: [R.Mutation] = []
    /// Why beside the mutations: an optional for each of them costs every POST a thousand
    /// instructions for its generic type.
    var stubVersions = StubVersions<R.State>()
    /// The last old state that was rebuilt: the next one continues from it, so that showing
    /// them all is one fold and not one for each.
    private var replay: (version: UInt64, state: R.State)?
    /// The newest action's number. The inlined code reaches it by calls.
    var lastTag: UInt64 = 0
    /// The session of the present call: the core's observer calls come from inside it.
    @usableFromInline
    unowned let session: Session
    /// The names of running steps in the action log, as far as they have any.
    var effectIDs: [RunID: EffectID] = [:]
    /// Which values are encoded as they are made, because their types may have no JSON.
    @usableFromInline
    let checks: ReactorChecks
    /// The last old version that was shown undecorated, which is logged once.
    var undecorated: UInt64?
    /// The effect or source that is ending, for the record of its failure.
    var ending = Ending.nothing
    private let clock: any Clock<Duration>
    private let compiled: Compiled

    /// - Parameter saved: where to continue; nil: from the initial state.
    init(
        _ reactor: R, pulses: [PulseField<R.State>], session: Session, clock: any Clock<Duration>,
        saved: SavedSession?, compiled: Compiled
    ) throws(RecoveryFault) {
        self.reactor = reactor
        self.pulses = PulseRecorder(pulses)
        hasPulses = !pulses.isEmpty
        self.session = session
        self.clock = clock
        self.compiled = compiled
        checks = compiled.checks.knowing(keepsRecords: session.keepsRecords)
        let fold = try ReactorFold(reactor, from: saved?.snapshot)
        if let saved { try fold.applyAll(of: saved) }
        core = ReactorCore(reactor: reactor, state: fold.state, version: fold.version)
        oldest = fold.state
        oldestVersion = fold.version
        lastTag = saved?.lastAction ?? 0
        lookAtPulses()
    }

    // MARK: Actions

    func receive(
        _ body: [UInt8], batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt? {
        try compiled.receive(self, body, batchLimit, mayApply, session)
    }

    func isSettled(_ actions: [ActionTag]) -> Bool {
        actions.allSatisfy { core.isSettled($0) }
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
        let failure =
            switch (form, version) {
            case (.raw, nil): append(core.state, to: &out)
            case (.raw, let version?): append(ownState(at: version), to: &out)
            case (.shown, nil): encode(core.visibleState(observer: self), to: &out)
            case (.shown, let version?): encode(shownState(at: version), at: version, to: &out)
            }
        if let failure { throw failure }
    }

    private func ownState(at version: UInt64) -> R.State {
        version == core.version ? core.state : state(at: version)
    }

    private func shownState(at version: UInt64) -> R.State {
        guard version != core.version else { return core.visibleState(observer: self) }
        if let state = stubVersions[version] { return state }
        let state = state(at: version)
        do {
            return try reactor.transform(state: state)
        } catch {
            // A decoration that fails is left out, as it is for the present state.
            isUndecorated(version, because: String(describing: error))
            return state
        }
    }

    func state(at version: UInt64) -> R.State {
        precondition(version >= oldestVersion && version <= core.version, "not a kept version")
        var (reached, state) = (oldestVersion, oldest)
        if let replay, replay.version <= version { (reached, state) = replay }
        while reached < version {
            reached += 1
            guard stubVersions.isEmpty || !stubVersions.contains(reached) else { continue }
            reactor.reduce(state: &state, mutation: mutations[mutationCount(through: reached) - 1])
        }
        replay = (version, state)
        return state
    }

    /// How many of `mutations` lead to this version.
    func mutationCount(through version: UInt64) -> Int {
        let count = Int(version - oldestVersion)
        return stubVersions.isEmpty ? count : count - stubVersions.count(through: version)
    }

    func endReplay() {
        replay = nil
    }

    func forget(before version: UInt64, atOnce: Bool) -> Bool {
        // In batches: taking one off the front of an array moves all the others.
        let count = Int(version) - Int(oldestVersion)
        guard count > 0, atOnce || (count >= 256 && count >= mutations.count / 2) else {
            return false
        }
        replay = nil
        let mutationCount = mutationCount(through: version)
        compiled.fold(self, mutationCount)
        mutations.removeFirst(mutationCount)
        stubVersions.forget(before: version)
        oldestVersion = version
        return true
    }

    func rollBack(to version: UInt64, in session: Session) {
        replay = nil
        var state = core.state
        if version < core.version {
            state = self.state(at: version)
            mutations.removeLast(mutations.count - mutationCount(through: version))
            stubVersions.rollBack(to: version)
        }
        replay = nil
        core.restore(state: state, version: version, observer: self)
        lookAtPulses()
    }

    private func lookAtPulses() {
        guard !pulses.isEmpty else { return }
        pulses.look(at: core.visibleState(observer: self))
    }

    // MARK: Life

    func openSources(in session: Session, isNew: Bool) -> [SourceLaunch] {
        open(core.makeSources(), in: session) { element in
            isNew || core.wouldChange(by: element, isSame: Self.isSame)
        }
    }

    /// As the journal has them. What has no JSON is another one: taking it says why.
    private static func isSame(_ one: R.State, _ other: R.State) -> Bool {
        var (left, right): ([UInt8], [UInt8]) = ([], [])
        do {
            try JSON.encode(one, into: &left)
            try JSON.encode(other, into: &right)
        } catch {
            return false
        }
        return left == right
    }

    func end(in session: Session) {
        core.end(observer: self)
    }

    // MARK: What tasks bring in, on the session's loop

    func receive(_ mutation: R.Mutation, from run: EffectRun<R>) -> Bool {
        core.receive(mutation, from: run, observer: self)
    }

    func receive(_ activity: R.Activity, from run: EffectRun<R>) -> Bool {
        core.receive(activity: activity, from: run, observer: self)
    }

    func receive(_ element: R.Source.Element) {
        switch element {
        case .mutation(let mutation):
            core.receive(fromSource: mutation, observer: self)
        case .action(let action):
            var receipt = Receipt()
            receive(action, at: 0, &receipt)
        }
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
        let text = String(describing: failure.error)
        session.recordFailure(
            at: failure.place.rawValue, text, content(of: failure, text), of: failure.action)
    }

    @usableFromInline
    func start(_ run: EffectRun<R>) {
        let mailbox = SessionMailbox<ReactorMachine<R>>(session)
        let clock = clock
        session.order(.start(run.id) { mailbox.task(for: run, clock: clock) })
        enterStarted(run)
    }

    @usableFromInline
    func cancel(_ run: RunID, action: ActionTag) {
        session.order(.cancel(run))
        enterEnded(.effectCancelled, run, action)
    }

    @usableFromInline
    func ended(_ run: RunID, action: ActionTag) {
        session.tasks.remove(run)
        // The steps after it in the same effect are no part of its end.
        if case .effect(_, let hasFailed) = ending, !hasFailed {
            enterEnded(.effectEnded, run, action)
        }
        effectIDs[run] = nil
        ending = .nothing
    }

    @usableFromInline
    func settled(_ action: ActionTag) {
        session.somethingSettled()
        if session.keepsRecords { session.noteSettled(action.number) }
    }
}
