internal import GRDB

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

package enum JournalFileFault: Error, Sendable, Equatable {
    /// The file is of another kind, and is not changed.
    case notAJournal
    /// A later version of this program wrote it.
    case newer(Int)
    /// Another process uses the file, or this process already does; its process id, if known.
    case locked(by: Int32?)
    /// The file was removed or replaced while it was in use.
    case replaced
    /// The write-ahead log beside the file belongs to another one.
    case foreignLog
    /// A frame of the write-ahead log is invalid, and acknowledged ones come after it. Frames count
    /// from 1; 0 is the header of the log.
    case damagedLog(frame: Int, later: Int)
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
        case .foreignLog:
            """
            \(path)-wal is the log of another file than \(path), and was not applied: after \
            restoring a copy remove \(path)-wal and \(path)-shm; if the log belongs to the file, \
            remove \(path).lock instead
            """
        case .damagedLog(let frame, let later):
            """
            \(path)-wal is damaged: \(frame == 0 ? "its header" : "its frame \(frame)") is \
            invalid, but \(later) frames after it are valid; restore a backup, or run \
            "reactor-server journal recover \(path)" to continue without them
            """
        case .unusable(let reason): "\(path) can't be used as a journal: \(reason)"
        }
    }
}
