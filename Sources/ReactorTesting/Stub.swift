public import Reactors

/// A session with its reactor taken out: it records the actions that it gets, and shows the states
/// that a test puts into it.
///
/// ```swift
/// let host = ReactorHost(CounterReactor())
/// let stub = Stub(host)
/// await stub.enable()
/// try await stub.inject { $0.value = 30 }
/// await view.tapIncrease()
/// #expect(await stub.actions == [.increase])
/// ```
///
/// Readers of the session continue reading: states and pulses come as if the reactor had made them.
/// While the stub is enabled, no code of the reactor runs: its effects are cancelled, and values of its
/// sources are dropped. Its own state is kept: after ``disable()`` it is shown again, and the next action
/// continues from it.
///
/// Every copy, and every stub of the same host, is the same stub.
public struct Stub<R: Reactor>: Sendable {
    private let host: ReactorHost<R>

    /// Makes the stub of a session; it is not enabled by that.
    public init(_ host: ReactorHost<R>) { self.host = host }

    /// Whether the reactor is taken out.
    public var isEnabled: Bool {
        get async { await host.isStubbed }
    }

    /// The actions that were sent since the stub was last enabled, in order; at least the newest 10 000 actions.
    public var actions: [R.Action] {
        get async { await host.stubbedActions }
    }

    /// Takes the reactor out, and begins a new recording. Enabling twice changes nothing.
    ///
    /// The state that is shown stays the same until another is injected.
    public func enable() async { await host.setStubbed(true) }

    /// Puts the reactor back in, with the state that it had. What was recorded can still be read.
    ///
    /// Readers of the state are notified once, if another one was shown; readers of pulses are not.
    public func disable() async { await host.setStubbed(false) }

    /// Changes the state that is shown: readers have it when this returns.
    ///
    /// Every call is one version. A pulse is an event if it was assigned: `{ $0.alert = "x" }` reports
    /// it, `{ $0 = State(alert: "x") }`, a new state, does not.
    ///
    /// - Throws: ``StubNotEnabled``; also when the session has ended.
    public func inject(
        _ change: @Sendable (inout R.State) -> Void
    ) async throws(StubNotEnabled) {
        guard await host.inject(change) else { throw StubNotEnabled() }
    }
}

/// A state was put into a session whose stub is not enabled, or that has ended.
public struct StubNotEnabled: Error, Hashable, Sendable {}
