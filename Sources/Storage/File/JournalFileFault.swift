internal import GRDB

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The reason that a file can't be used as a journal.
package enum JournalFileFault: Error, Sendable, Equatable {
    /// The file is of another kind, and is not changed.
    case notAJournal
    /// A later version of this program wrote it.
    case newer(Int)
    /// Another process uses the file, or this process already does; its process id, if known.
    case locked(by: Int32?)
    /// The file was removed or replaced while it was in use.
    case replaced
    /// The system refuses access to the file.
    case unusable(String)

    init(_ error: any Error) {
        switch error {
        case let fault as JournalFileFault: self = fault
        case let error as DatabaseError where error.resultCode == .SQLITE_NOTADB:
            self = .notAJournal
        case let error as DatabaseError:
            self = .unusable(
                "\(error.message ?? "error") (SQLite \(error.extendedResultCode.rawValue))")
        default: self = .unusable("\(error)")
        }
    }

    /// A sentence about the file, for a message.
    package func sentence(_ path: String) -> String {
        switch self {
        case .notAJournal: "\(path) is not a journal of this program; it was left as it is"
        case .newer(let version):
            "\(path) has version \(version) of the journal's form; this program knows up to "
                + "\(JournalSchema.version)"
        case .locked(let process) where process == getpid():
            "\(path) is in use by this process already"
        case .locked(let process?): "\(path) is in use by another process (\(process))"
        case .locked(nil): "\(path) is in use already, perhaps under another name"
        case .replaced: "\(path) was removed or replaced while it was in use"
        case .unusable(let reason): "\(path) can't be used as a journal: \(reason)"
        }
    }
}
