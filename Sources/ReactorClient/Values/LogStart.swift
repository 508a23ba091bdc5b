/// Where an action log begins.
public enum LogStart: Hashable, Sendable {
    /// With the entries after the state that the program knows at the call. So the log has an
    /// action that is sent after the call.
    case now
    /// With everything that the server keeps.
    case start
    /// With the entries after a version, if the server keeps it.
    case version(UInt64)
    /// With the entries after a position that the program has saved: that of an entry, of a receipt
    /// or of a session without its third part. If the server does not keep it any more, the log
    /// begins with ``RemoteLogEvent/reset(reason:)``.
    case after(Position)
}
