// Design: a stub is the session without its reactor. Actions are recorded, the shown state is the
// one that a test injects, no code of the reactor runs; its own state stays unchanged until the
// stub is removed. Readers and positions belong to the session, so clients do not notice the
// exchange.

/// The state and the recorded actions of a stubbed session.
@usableFromInline
final class StubState<R: Reactor> {
    @usableFromInline
    var state: R.State

    var hasInjected = false
    var recording = StubRecording<R.Action>()

    init(state: R.State) { self.state = state }
}

extension ReactorCore {
    /// Removes the reactor: actions are recorded from now on and have no effect.
    ///
    /// The reactor's own state is shown, without `transform(state:)`, until another is injected.
    /// Running steps are cancelled without their continuations; mutations from sources are dropped.
    /// Begins a new recording. Does nothing if the session has ended or is stubbed.
    package func beginStub(observer: some ReactorCoreObserver<R>) {
        guard isOpen else { return }
        stub = StubState(state: current)
        isStubbed = true
        isOpen = false
        cancelAll(observer: observer)
    }

    /// Changes the state that a stubbed session shows: one version, whatever the change is.
    ///
    /// The state is shown without `transform(state:)`.
    ///
    /// - Returns: whether the session is stubbed and has not ended; if not, nothing happens.
    /// - Throws: the error of `change`; nothing was changed then.
    package func inject<Failure: Error>(
        observer: some ReactorCoreObserver<R>,
        _ change: (inout R.State) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        guard isStubbed, !ended, let stub else { return false }
        beginTurn()
        defer { isInTurn = false }
        var state = stub.state
        try change(&state)
        stub.state = state
        stub.hasInjected = true
        count += 1
        observer.injected(core: self)
        return true
    }

    /// Restores the reactor, with the state that it had. The recording can be read until the next
    /// ``beginStub(observer:)``.
    ///
    /// One version if a state was injected, since another is shown then; else none.
    package func endStub(observer: some ReactorCoreObserver<R>) {
        guard isStubbed, !ended, let stub else { return }
        beginTurn()
        defer { isInTurn = false }
        isStubbed = false
        isOpen = true
        guard stub.hasInjected else { return }
        count += 1
        observer.uncovered(core: self)
    }

    /// Whether the session is stubbed.
    @usableFromInline
    package var isStub: Bool { isStubbed }

    /// The actions of the present recording, or else of the last one; at least the newest 10 000.
    package var stubbedActions: [R.Action] { stub?.recording.actions ?? [] }

    @usableFromInline
    var stubState: R.State { stub?.state ?? current }

    // An action that does not reach the reactor.
    @usableFromInline
    func recordForStub(
        _ action: R.Action, _ tag: ActionTag, _ observer: some ReactorCoreObserver<R>
    ) -> Disposition {
        guard !ended, let stub else { return .ended }
        beginTurn()
        defer { isInTurn = false }
        stub.recording.append(action)
        observer.recorded(action, tag: tag)
        return .accepted(version: count, isSettled: true)
    }
}
