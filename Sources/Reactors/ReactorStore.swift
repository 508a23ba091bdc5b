/// A session of a reactor, wherever it runs: ``ReactorHost`` in this process, or `RemoteReactor` of
/// the module `ReactorClient` on a server.
///
/// Write views and tests against this, and choose the place where the program is put together:
///
/// ```swift
/// func show(_ room: some ReactorStore<Chat>) async throws {
///     for try await count in await room.state(\.count) { print(count) }
/// }
/// ```
///
/// Every stream is for one reader and bounded. It ends with ``ReaderTooSlow`` when this reader is
/// too slow, and for no other reason than that and the end of the session: trouble with a network
/// is a status of a remote session, never an error of its streams.
public protocol ReactorStore<R>: Sendable {
    /// The reactor.
    associatedtype R: Reactor

    /// The shown state. Of a remote session: as known here, with its own unconfirmed actions.
    var currentState: R.State { get async }

    /// Mutations since the initial state. Of a remote session: those that this program knows.
    var version: UInt64 { get async }

    /// Sends an action, and returns when the shown state contains the synchronous part
    /// of its effect.
    ///
    /// A refused action is a result too (``SendResult/refusal``), wherever the session runs.
    ///
    /// - Throws: on a remote session, if the action was not applied for another reason, or if it is
    ///   unknown whether it was applied. A host in this process never throws.
    @discardableResult
    func send(_ action: R.Action) async throws -> SendResult

    /// The shown state: the current one, then each later one.
    ///
    /// - Parameter limit: how far the reader may fall behind, at least 1.
    func state(buffer limit: Int) async -> ReactorStream<R.State>

    /// A part of the shown state: its current value, then each change.
    ///
    /// - Parameters:
    ///   - path: the path to the part.
    ///   - limit: how far the reader may fall behind, at least 1.
    func state<Part: Equatable & Sendable>(
        _ path: any KeyPath<R.State, Part> & Sendable, buffer limit: Int
    ) async -> ReactorStream<Part>

    /// The value of a pulse: the current one, then one for every assignment, even of
    /// an equal value.
    ///
    /// - Parameters:
    ///   - path: the pulse, `\.$alertMessage`, a field of the state itself.
    ///   - limit: how far the reader may fall behind, at least 1.
    func pulse<Value: Sendable>(
        _ path: any KeyPath<R.State, Pulse<Value>> & Sendable, buffer limit: Int
    ) async -> ReactorStream<Value>

    /// The activities from now on.
    ///
    /// - Parameter limit: how far the reader may fall behind, at least 1.
    func activities(buffer limit: Int) async -> ReactorStream<R.Activity>
}

extension ReactorStore {
    /// The shown state, for a reader that may fall 256 states behind.
    public func state() async -> ReactorStream<R.State> { await state(buffer: 256) }

    /// A part of the shown state, for a reader that may fall 256 values behind.
    public func state<Part: Equatable & Sendable>(
        _ path: any KeyPath<R.State, Part> & Sendable
    ) async -> ReactorStream<Part> { await state(path, buffer: 256) }

    /// The value of a pulse, for a reader that may fall 256 values behind.
    public func pulse<Value: Sendable>(
        _ path: any KeyPath<R.State, Pulse<Value>> & Sendable
    ) async -> ReactorStream<Value> { await pulse(path, buffer: 256) }

    /// ReactorKit takes a closure. A key path is checked, and a server can find the pulse by it.
    @available(*, unavailable, message: "pulse takes a key path: write pulse(\\.$alertMessage)")
    public func pulse<Value: Sendable>(
        _ pulse: (R.State) throws -> Pulse<Value>
    ) async -> ReactorStream<Value> { preconditionFailure("it is unavailable") }

    /// The activities from now on, for a reader that may fall 256 of them behind.
    public func activities() async -> ReactorStream<R.Activity> { await activities(buffer: 256) }
}

extension ReactorHost: ReactorStore {
    /// Sends an action of no client, and returns when the synchronous part of its
    /// effect is applied.
    ///
    /// - Parameter action: The action.
    @discardableResult
    public func send(_ action: R.Action) -> SendResult { send(action, subject: nil) }
}
