/// Where the events of a session begin.
public enum SessionStart: Hashable, Sendable {
    /// With the present state. Without a network: with the state that an earlier client has saved
    /// in its outbox's file, until the present one comes.
    case present
    /// With the next event. The state is read beside the stream.
    case now
    /// With everything that the server keeps.
    case start
    /// With what follows the state that an earlier client has saved in its outbox's file, so that
    /// the first reader of the events gets all since then; ``present`` if there is none.
    case saved
    /// With what follows a position that the program has saved. If the server does not keep it any
    /// more, the events begin with ``RemoteEvent/reset(reason:)``.
    case after(Position)
}

/// The condition of a send.
public enum SendCondition: Hashable, Sendable {
    /// None.
    case always
    /// The session has this position; otherwise nothing is applied, and the failure is
    /// ``SendFailure/positionChanged(_:)``.
    case position(Position)
}
