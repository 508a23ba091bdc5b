internal import GRDB
internal import GRDBSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension JournalFailure {
    /// - Parameter systemCode: the system's code for the last call of the connection; 0 if unknown.
    init(_ error: any Error, systemCode: Int32) {
        guard let error = error as? DatabaseError else {
            let fault = error as? JournalFileFault
            self.init(
                reason: .unavailable,
                detail: fault?.sentence("the journal's file") ?? "the journal's file: \(error)")
            return
        }
        // SQLite reports a full disk as such only for `write`, not for its shared memory or a
        // flush.
        let isFull =
            error.resultCode == .SQLITE_FULL
            || (error.resultCode == .SQLITE_IOERR && [ENOSPC, EDQUOT].contains(systemCode))
        let message = error.message ?? "error"
        self.init(
            reason: isFull ? .full : .unavailable,
            detail: isFull
                ? "no space is left for the journal"
                : "the journal's file: \(message) (SQLite \(error.extendedResultCode.rawValue))")
    }
}

extension DatabaseError {
    /// Whether a COMMIT that failed with this error was certainly not written: a write was refused,
    /// so the frame that ends the transaction is incomplete in the log. A flush fails only after
    /// that frame was written; so does an update of the log's index, for which a full disk has no
    /// space either.
    ///
    /// Source: SQLite's `sqlite3WalFrames`, which writes all frames, flushes them, and then enters
    /// them in the index.
    var isRefusedWrite: Bool {
        extendedResultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_WRITE
    }
}

extension Database {
    /// `errno` of the connection's last failed call.
    var systemCode: Int32 { unsafe sqlite3_system_errno(sqliteConnection) }
}
