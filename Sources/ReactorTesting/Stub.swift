public import Reactors

/// A session with its reactor disabled: it records the actions that it receives, and shows the
/// states that a test injects.
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
/// While the stub is enabled, no code of the reactor runs: its effects are cancelled, and values of
/// its sources are dropped. Its own state is kept: after ``disable()`` it is shown again, and the
/// next action continues from it.
///
/// Every copy, and every stub of the same host, is the same stub.
public struct Stub<R: Reactor>: Sendable {
    private let host: ReactorHost<R>

    /// Makes the stub of a session; this does not enable it.
    public init(_ host: ReactorHost<R>) { self.host = host }

    /// Whether the reactor is disabled.
    public var isEnabled: Bool {
        get async { await host.isStubbed }
    }

    /// The actions since the stub was last enabled, in order; at least the newest 10 000.
    public var actions: [R.Action] {
        get async { await host.stubbedActions }
    }

    /// Disables the reactor, and starts a new recording. Enabling twice changes nothing.
    ///
    /// The shown state stays the same until another state is injected.
    public func enable() async { await host.setStubbed(true) }

    /// Enables the reactor again, with its own state. The recording can still be read.
    ///
    /// Notifies readers of the state once, if another was shown, and no readers of pulses.
    public func disable() async { await host.setStubbed(false) }

    /// Changes the shown state: readers have received it when this returns.
    ///
    /// Every call is one version. A pulse is an event if it was assigned: `{ $0.alert = "x" }`
    /// reports it, `{ $0 = State(alert: "x") }`, a new state, does not.
    ///
    /// - Throws: ``StubNotEnabled``; also when the session has ended.
    public func inject(
        _ change: @Sendable (inout R.State) -> Void
    ) async throws(StubNotEnabled) {
        guard await host.inject(change) else { throw StubNotEnabled() }
    }
}

/// The stub was not enabled or the session had ended when a state was injected.
public struct StubNotEnabled: Error, Hashable, Sendable {}
