package import Storage

/// Why a state can't be handed to another session.
package enum ExportFault: Error, Sendable {
    /// Those of the range can.
    case versionUnknown(ClosedRange<UInt64>)
    case unreadable(JournalFailure)
    case unencodable(String)
    /// It was deleted meanwhile.
    case gone(SessionID)
}

extension JournalFailure {
    /// Nothing was applied: what the request was decided upon is not believed any more.
    static let leftMemory = JournalFailure(
        reason: .unavailable, detail: "the session left memory after a failed commit")
}
