// Design: the engine of every session, in a process and in a server. It is synchronous, without
// tasks, locks or a clock. Its decisions are reported to the observer, an argument of every call,
// so that a session can own its core without a cycle.
//
// A turn is one call from outside. A turn
//  1. applies the synchronous part of its action as a whole: nothing interleaves with it;
//  2. then continues the `.concat`s of steps that were cancelled meanwhile.
//
// The path of an action with nothing but mutations is inlinable, so that a reactor known to the
// optimiser gets a specialised copy of it. (That needs `@usableFromInline` on the package types as
// well: without it the compiler silently emits calls. Seen on 6.3.1.)

/// One session's reactor, its state, its version, and its running steps.
@usableFromInline
package final class ReactorCore<R: Reactor> {
    @usableFromInline
    let reactor: R

    /// The state as returned by `reduce`.
    package internal(set) var state: R.State {
        @inlinable get { current }
        @inlinable set { current = newValue }
    }

    @usableFromInline
    var current: R.State

    // The inlined code reads the properties below through calls: those need no run-time check for
    // overlapping access, which costs about 85 instructions (ADR-0013).

    /// The number of mutations since the initial state.
    @usableFromInline
    package var version: UInt64 { count }

    var count: UInt64

    // Invariant: true exactly during a turn. A core that is called while it calls user code or its
    // observer would apply one action inside another.
    var isInTurn = false

    @usableFromInline
    package var isEnded: Bool { ended }

    var ended = false

    // The state and recording of a stubbed session; kept for reading when the stub is off.
    var stub: StubState<R>?

    var isStubbed = false

    // Invariant: true if neither ended, nor ending, nor stubbed. The hot path checks nothing else.
    var isOpen = true

    // Whether an effect has ended the session, and the host has not called `end(observer:)` yet.
    var isEnding = false

    let steps = RunningSteps()

    // The actions whose effects are running or pause.
    var unsettled: [ActionTag: UnsettledAction<R>] = [:]

    // Set only during a request that began while steps ran.
    var stepsMark: StepsMark<R>?

    // Invariant: set from the refused turn until the host takes it; nil at any other time.
    var refusal: Refusal?

    // The number of steps that the interpreter has begun in this turn.
    var stepsTaken = 0

    // Invariant: a failing `transform(state:)` is reported once per version.
    var failedTransform: UInt64?

    /// Makes a session's core.
    ///
    /// - Parameters:
    ///   - state: The state to continue from, of a snapshot. Default: the reactor's initial state.
    ///   - version: The version of that state. Default: 0.
    package init(reactor: R, state: R.State? = nil, version: UInt64 = 0) {
        self.reactor = reactor
        current = state ?? reactor.initialState
        count = version
    }

    /// The reactor's external streams. Call once per session.
    package func makeSources() -> [R.Source] { reactor.sources }

    /// Receives an action: its whole synchronous part is applied on return.
    @inlinable
    package func receive(
        _ action: R.Action, tag: ActionTag, subject: String? = nil,
        observer: some ReactorCoreObserver<R>
    ) -> Disposition {
        guard beginOpenTurn() else { return recordForStub(action, tag, observer) }
        defer { endTurn() }
        guard let accepted = accept(action, tag, subject, observer) else { return unaccepted }
        let effect = reactor.mutate(state: current, action: accepted, subject: subject)
        if case .tree(let part) = effect.node, part.mayRefuse { observer.mayRefuse(core: self) }
        observer.accepted(action, as: accepted, tag: tag)
        switch effect.node {
        case .none: break
        case .just(let mutation): apply(mutation, tag, observer)
        case .several(let mutations):
            if mutations.count > Self.stepLimit { refuseSteps(of: tag, observer); break }
            for mutation in mutations { apply(mutation, tag, observer) }
        case .tree(let part):
            guard perform(part, tag, observer) else { return .refused }
        }
        let version = version
        observer.synchronousPartEnded(tag, core: self)
        if isQuiet { return .accepted(version: version, isSettled: true) }
        continueCancelled(observer)
        return .accepted(version: version, isSettled: settles(action, tag, subject))
    }

    @inlinable
    package func receive(fromSource mutation: R.Mutation, observer: some ReactorCoreObserver<R>) {
        guard beginOpenTurn() else {
            return observer.dropped(mutation, by: .none, because: isEnded ? .ended : .stub)
        }
        defer { endTurn() }
        apply(mutation, .none, observer)
    }

    /// The shown state, decorated by `transform(state:)`.
    ///
    /// If that fails, the undecorated state; the observer is notified once per version. A stubbed
    /// session shows the injected state.
    @inlinable
    package func visibleState(observer: some ReactorCoreObserver<R>) -> R.State {
        if isStub { return stubState }
        do {
            return try reactor.transform(state: current)
        } catch {
            if markTransformFailure() {
                observer.failed(
                    ReactorFailure(place: .transformState, error: error, action: .none))
            }
            return current
        }
    }

    @usableFromInline
    func beginTurn() {
        precondition(!isInTurn, "a core was called from inside its own turn")
        isInTurn = true
    }

    /// Begins a turn unless the session has ended or is stubbed.
    @usableFromInline
    func beginOpenTurn() -> Bool {
        guard isOpen else { return false }
        beginTurn()
        return true
    }

    @usableFromInline
    func endTurn() { isInTurn = false }

    @usableFromInline
    func countVersion() { count += 1 }

    /// Whether no step runs, and no continuation is due.
    @usableFromInline
    var isQuiet: Bool { steps.isQuiet }

    @inlinable
    func accept(
        _ action: R.Action, _ tag: ActionTag, _ subject: String?,
        _ observer: some ReactorCoreObserver<R>
    ) -> R.Action? {
        do {
            guard let accepted = try reactor.transform(action: action, subject: subject) else {
                observer.rejected(action, tag: tag)
                return nil
            }
            return accepted
        } catch {
            hookFailed(error, action, tag, observer)
            return nil
        }
    }

    @inlinable
    func apply(_ mutation: R.Mutation, _ tag: ActionTag, _ observer: some ReactorCoreObserver<R>) {
        do {
            guard let mutation = try reactor.transform(mutation: mutation) else {
                return observer.dropped(mutation, by: tag, because: .transform)
            }
            reactor.reduce(state: &current, mutation: mutation)
            countVersion()
            observer.mutated(mutation, by: tag, core: self)
        } catch {
            observer.failed(ReactorFailure(place: .transformMutation, error: error, action: tag))
        }
    }

    /// Marks that `transform(state:)` has failed for this version. Returns whether it is the first
    /// mark, so that the failure must be reported.
    @usableFromInline
    package func markTransformFailure() -> Bool {
        defer { failedTransform = count }
        return failedTransform != count
    }
}
