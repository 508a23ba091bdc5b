public import Reactors

/// A cycler that receives actions as values, so that a server can host it.
public protocol ActionCycler: Cycler {
    /// The actions that the cycler can receive.
    associatedtype Action: Sendable

    /// Runs an action.
    ///
    /// The part before its first suspension is the action's synchronous part: a server replies when
    /// that part is committed. The whole action runs in the isolation of its caller.
    ///
    /// In a server it resumes after a suspension when all of its earlier commits are in the
    /// journal; see ``Cycler/saved()``.
    ///
    /// - Throws: Errors of its dispatches. A host refuses an action that throws in its synchronous
    ///   part. If the error is a `Refusal`, the client gets its code and its sentence. A later
    ///   error is recorded as a failure of a running action.
    nonisolated(nonsending) func receive(_ action: Action) async throws

    /// Runs an action of a client. A host calls only this form.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - subject: The name of the authenticated client; nil if the host authenticates nobody, and
    ///     for actions that no client has sent: those of ``sources``.
    ///
    /// Default: forwards to ``receive(_:)``.
    nonisolated(nonsending) func receive(_ action: Action, subject: String?) async throws

    /// The external streams that this cycler listens to: each element is an action.
    ///
    /// Read by the host once per session, when it starts. Default: none.
    var sources: [Source] { get }

    // The requirements below matter where sessions are stored: in a server with a journal in a
    // file.

    /// The version of the saved form of states.
    ///
    /// Increase it when a change to `State` makes saved values unreadable or wrong, and convert the
    /// old form in ``migrate(state:)``. Default: 1.
    static var stateVersion: Int { get }

    /// Makes a state from one that was saved with an earlier ``stateVersion``.
    ///
    /// Default: decodes it unchanged. An error quarantines the session with its data unchanged,
    /// until a later deployment can read it.
    static func migrate(state saved: SavedValue) throws -> State

    /// How long a session is kept that nobody uses. Then it ends.
    ///
    /// Each action uses the session. It is also in use while it is read, while an action waits, and
    /// while a source is open. It may end a sixteenth of this time and a few minutes late. Less
    /// than a minute counts as a minute. Default: nil. Then the server's `--session-expiry`
    /// applies, which is off by default.
    static var expiresAfter: Duration? { get }

    /// The tags by which lists find the session: `GET /v1/sessions?tag=status:open`.
    ///
    /// Called once for each commit of the journal that may have changed the state. If this function
    /// changes, run `journal retag` or increase ``stateVersion``. Default: none.
    static func tags(of state: State) -> Tags

    /// Decides about an action that was suspended when the process ended.
    ///
    /// Default: `Recovery.abandon`, which never repeats an action. Both cases are recorded. The
    /// time of `runAgain(after:)` is ignored: the action runs again at once. An action that has
    /// failed does not run again.
    func recovery(of action: Action) -> Recovery
}

extension ActionCycler {
    /// An external stream for this cycler; its elements are actions.
    public typealias Source = ReactorSource<Action, Never>

    /// Forwards to the form without the client.
    public nonisolated(nonsending) func receive(_ action: Action, subject: String?) async throws {
        try await receive(action)
    }

    /// No sources.
    public var sources: [Source] { [] }

    /// Version 1.
    public static var stateVersion: Int { 1 }

    /// Fails: a state that is not `Decodable` is never saved.
    public static func migrate(state saved: SavedValue) throws -> State { throw NotSaved() }

    /// No time of its own.
    public static var expiresAfter: Duration? { nil }

    /// No tags.
    public static func tags(of state: State) -> Tags { .undeclared }

    /// Abandons the action.
    public func recovery(of action: Action) -> Recovery { .abandon }
}

extension ActionCycler where State: Decodable {
    /// Decodes it unchanged.
    public static func migrate(state saved: SavedValue) throws -> State {
        try saved.decode(State.self)
    }
}
