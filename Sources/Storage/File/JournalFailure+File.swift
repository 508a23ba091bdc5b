internal import GRDB
internal import GRDBSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension JournalFailure {
    init(_ error: any Error, systemCode: Int32) {
        guard let error = error as? DatabaseError else {
            let fault = error as? JournalFileFault
            self.init(
                reason: .unavailable,
                detail: fault?.sentence("the journal's file") ?? "the journal's file: \(error)")
            return
        }
        // SQLite reports a full disk only for `write`, not for its shared memory or a flush.
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
    /// Whether a COMMIT that failed so was certainly not written: a write was refused, so the frame
    /// that ends the transaction is incomplete in the log. A flush fails only after that frame was
    /// written; so does an update of the log's index, for which a full disk has no space either.
    ///
    /// Source: SQLite's `sqlite3WalFrames`: it writes all frames, flushes, and updates the index.
    var isRefusedWrite: Bool {
        extendedResultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_WRITE
    }
}

extension Database {
    /// The system's code for the write that failed, or the connection's last failed call.
    ///
    /// Why the files' own codes: the connection's is that after the statement was rolled back.
    var systemCode: Int32 {
        let codes = [SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER].map(fileCode)
        let isFull = { (code: Int32) in [ENOSPC, EDQUOT].contains(code) }
        if let code = codes.first(where: isFull) { return code }
        return unsafe sqlite3_system_errno(sqliteConnection)
    }

    /// The code of the last call that failed for a file of this connection; 0 if none did.
    private func fileCode(_ pointer: Int32) -> Int32 {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var code: Int32 = 0
        let found = unsafe sqlite3_file_control(sqliteConnection, "main", pointer, &file)
        guard found == SQLITE_OK, let file = unsafe file,
            let control = unsafe file.pointee.pMethods?.pointee.xFileControl
        else { return 0 }
        return unsafe control(file, SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK ? code : 0
    }
}
