package import Feeds
package import Storage

/// Why a state cannot be exported to another session.
package enum ExportFault: Error, Sendable {
    /// The version is not kept. The versions of the range are.
    case versionUnknown(ClosedRange<UInt64>)
    case unreadable(JournalFailure)
    case unencodable(String)
    /// There is no room for the state (``WorkBudget``).
    case overBudget
    /// The session was deleted.
    case gone(SessionID)
}
