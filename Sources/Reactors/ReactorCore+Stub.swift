// Design: a stub is the session without its reactor. Actions are recorded, the shown state is the
// injected one, and no code of the reactor runs; its own state stays unchanged until the stub is
// removed. Readers and positions belong to the session, so clients do not notice the replacement.

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
    /// Starts a new recording. Ignored if the session has ended or is stubbed.
    package func beginStub(observer: some ReactorCoreObserver<R>) {
        guard isOpen else { return }
        stub = StubState(state: current)
        isStubbed = true
        isOpen = false
        cancelAll(observer: observer)
    }

    /// Changes the state that a stubbed session shows: each call is one version.
    ///
    /// The state is shown without `transform(state:)`.
    ///
    /// - Returns: Whether the session is stubbed and has not ended; if not, the call has no effect.
    /// - Throws: The error of `change`; the state is then unchanged.
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

    /// Restores the own state. The recording can be read until the next ``beginStub(observer:)``.
    ///
    /// Makes one version if a state was injected, because the shown state changes; otherwise none.
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

    @usableFromInline
    package var isStub: Bool { isStubbed }

    /// The actions of the current recording, or else of the last one; at least the newest 10 000.
    package var stubbedActions: [R.Action] { stub?.recording.actions ?? [] }

    @usableFromInline
    var stubState: R.State { stub?.state ?? current }

    // Records an action that does not reach the reactor.
    @usableFromInline
    func recordForStub(
        _ action: R.Action, _ tag: ActionTag, _ observer: some ReactorCoreObserver<R>
    ) -> Disposition {
        guard isStubbed, !ended, let stub else { return .ended }
        beginTurn()
        defer { isInTurn = false }
        stub.recording.append(action)
        observer.recorded(action, tag: tag)
        return .accepted(version: count, isSettled: true)
    }
}
