public import Reactors

/// A session of a reactor on a server, used as a `ReactorHost` in this process is.
///
/// With a predicting instance the shown state is the server's with this program's unconfirmed
/// actions reduced over it, by the reactor's own `mutate` and `reduce`. It is made anew
/// whenever anything arrives. Only states are predicted: pulses and activities come from the
/// server, each once.
///
/// The session is followed until ``leave()``, or until the last object that uses it is released.
public final class RemoteReactor<R: Reactor>: ReactorStore
where R.Action: Codable, R.State: Codable, R.Activity: Codable {
    /// The same session without the reactor.
    public let session: RemoteSession<R.Action, R.State, R.Activity>

    init(_ session: RemoteSession<R.Action, R.State, R.Activity>) { self.session = session }

    /// The id.
    public var id: String { session.id }

    /// The shown state, this program's unconfirmed actions included.
    public var currentState: R.State { get async { await session.currentState } }

    /// The server's state as this program knows it, without the unconfirmed actions.
    public var confirmedState: R.State { get async { await session.confirmedState } }

    /// As ``RemoteSession/version``.
    public var version: UInt64 { get async { await session.version } }

    /// As ``RemoteSession/position``.
    public var position: Position? { get async { await session.position } }

    /// How the session is followed.
    public var status: LinkStatus { session.status }

    /// The present status, then each change.
    public var statuses: ReactorStream<LinkStatus> { get async { await session.statuses } }

    /// As ``RemoteSession/presence``.
    public var presence: Presence? { get async { await session.presence } }

    /// As ``RemoteSession/presences``.
    public var presences: ReactorStream<Presence> { get async { await session.presences } }

    /// The number of this session's actions that are not done.
    public var pending: Int { session.pending }

    /// As ``RemoteSession/send(_:)``.
    @discardableResult
    public func send(_ action: R.Action) async throws(SendFailure) -> SendResult {
        try await session.send(action)
    }

    /// As ``RemoteSession/send(_:if:settled:)``.
    @discardableResult
    public func send(
        _ actions: [R.Action], if condition: SendCondition = .always,
        settled limit: Duration? = nil
    ) async throws(SendFailure) -> Receipt {
        try await session.send(actions, if: condition, settled: limit)
    }

    /// Puts an action into the outbox and returns at once, without a network too.
    @discardableResult
    public func submit(_ action: R.Action) throws(SendFailure) -> Ticket {
        try session.submit(action)
    }

    /// The shown state: the current one, then each later one.
    public func state(buffer limit: Int = 256) async -> ReactorStream<R.State> {
        await session.state(buffer: limit)
    }

    /// A part of the shown state: its current value, then each change.
    public func state<Part: Equatable & Sendable>(
        _ path: any KeyPath<R.State, Part> & Sendable, buffer limit: Int = 256
    ) async -> ReactorStream<Part> { await session.state(path, buffer: limit) }

    /// As ``RemoteSession/pulse(_:buffer:)``.
    public func pulse<Value: Sendable>(
        _ path: any KeyPath<R.State, Pulse<Value>> & Sendable, buffer limit: Int = 256
    ) async -> ReactorStream<Value> { await session.pulse(path, buffer: limit) }

    /// The activities from now on.
    public func activities(buffer limit: Int = 256) async -> ReactorStream<R.Activity> {
        await session.activities(buffer: limit)
    }

    /// As ``RemoteSession/events(buffer:)``.
    public func events(
        buffer limit: Int = 1024
    ) async -> ReactorStream<RemoteEvent<R.State, R.Activity>> {
        await session.events(buffer: limit)
    }

    /// As ``RemoteSession/log(from:buffer:)``.
    public func log(
        from start: LogStart = .now, buffer limit: Int = 1024
    ) async throws(ClientFailure) -> ReactorStream<RemoteLogEvent> {
        try await session.log(from: start, buffer: limit)
    }

    /// The state as it was at a version, if the server keeps it.
    public func state(at version: UInt64) async throws(ClientFailure) -> R.State {
        try await session.state(at: version)
    }

    /// As ``RemoteSession/fork(at:)``; the fork predicts if it has an instance of its own.
    public func fork(
        at version: UInt64? = nil, predicting reactor: sending R? = nil
    ) async throws(ClientFailure) -> RemoteReactor<R> {
        let id = try await session.makeFork(at: version)
        return try await session.life.reactor(id, of: nil, reactor, from: .present)
    }

    /// As ``RemoteSession/delete()``.
    public func delete() async throws(ClientFailure) { try await session.delete() }

    /// As ``RemoteSession/leave()``.
    public func leave() async { await session.leave() }
}
