public import Reactors

/// A cycler whose methods can be called by a value: what a server hosts.
public protocol ActionCycler: Cycler {
    /// The actions that it can receive.
    associatedtype Action: Sendable

    /// Carries out an action.
    ///
    /// All that it does before its first suspension is the action's synchronous part: a server
    /// answers when that is committed. It runs in the isolation of its caller, throughout.
    ///
    /// In a server it resumes after a suspension when everything that it committed before is in the
    /// journal; see ``Cycler/saved()``.
    ///
    /// - Throws: what its dispatches throw. A host refuses an action that throws in its
    ///   synchronous part; later it is a failure of a running action.
    nonisolated(nonsending) func receive(_ action: Action) async throws

    /// The streams from outside that this cycler listens to: each element is an action.
    ///
    /// For who hosts it: read once per session, when it starts. Default: none.
    var sources: [Source] { get }

    // The requirements below matter where sessions are stored: in a server with a journal in a file.

    /// The form that states have when they are saved.
    ///
    /// Raise it when a change to `State` makes what is saved unreadable or wrong, and say in
    /// ``migrate(state:)`` what becomes of the old form. Default: 1.
    static var stateVersion: Int { get }

    /// Makes a state from one that was saved with an earlier ``stateVersion``.
    ///
    /// Default: reads it as it is. An error sets the session aside, its data untouched, until a
    /// later deployment can read it.
    static func migrate(state saved: SavedValue) throws -> State

    /// How an action is treated that was waiting when the process ended.
    ///
    /// Default: `Recovery.abandon`, which never does a thing twice. Either way it is a record.
    func recovery(of action: Action) -> Recovery
}

extension ActionCycler {
    /// A stream from outside for this cycler; it brings actions.
    public typealias Source = ReactorSource<Action, Never>

    /// No streams.
    public var sources: [Source] { [] }

    /// 1.
    public static var stateVersion: Int { 1 }

    /// Fails: a state that is not `Decodable` is nowhere saved.
    public static func migrate(state saved: SavedValue) throws -> State { throw NotSaved() }

    /// Abandoned.
    public func recovery(of action: Action) -> Recovery { .abandon }
}

extension ActionCycler where State: Decodable {
    /// Reads it as it is.
    public static func migrate(state saved: SavedValue) throws -> State {
        try saved.decode(State.self)
    }
}
