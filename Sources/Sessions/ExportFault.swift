package import Storage

/// Why a state can't be handed to another session.
package enum ExportFault: Error, Sendable {
    /// Those of the range can.
    case versionUnknown(ClosedRange<UInt64>)
    case unreadable(JournalFailure)
    case unencodable(String)
}
