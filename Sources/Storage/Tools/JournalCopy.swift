internal import GRDB

/// Copies a journal as of one moment, without its free space. A server may be using it.
package struct JournalBackup: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Writes to `<copy>.backup`, flushes it, and renames it when it is complete. Throws
    /// ``JournalFileFault``: `copy` exists, or one of the two can't be read or written.
    package func run(to copy: String) throws(JournalFileFault) {
        let file = try JournalFile(path)
        let partial = try PartialFile(of: copy, suffix: ".backup")
        do {
            try file.vacuum(into: partial.path)
        } catch {
            partial.abandon()
            throw JournalFileFault(error)
        }
        try FileMark.renew(in: partial)
        try partial.finish()
    }
}

extension FileMark {
    /// Draws another mark for a copy. If the copy replaces the file, its mark shows that the old
    /// log belongs to another file. The commit flushes the whole copy: SQLite does not flush what
    /// VACUUM writes.
    static func renew(in partial: PartialFile) throws(JournalFileFault) {
        do {
            let other = try DatabaseQueue(path: partial.path)
            try other.inDatabase { copy in
                try copy.execute(sql: "PRAGMA synchronous = FULL")
                _ = try prepare(copy)
                try FileMark().write(copy)
            }
            try other.close()
        } catch {
            partial.abandon()
            throw JournalFileFault(error)
        }
    }
}

/// Continues a journal whose write-ahead log is damaged, without what comes after the damage.
///
/// Numbers of lost records are used again. So every session gets another generation: a client with
/// the position of a lost record gets `reset`, and does not miss the new record with that number.
package struct JournalRecovery: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// - Returns: The number of sessions.
    ///
    /// - Throws: ``JournalFileFault``: in use (`locked`), its log is whole, or it can't be written.
    package func run() throws(JournalFileFault) -> Int {
        guard FileIdentity(path) != nil else { throw .unusable("there is no such file") }
        let lock = try JournalLock(for: path)
        defer { lock.release() }
        try LogInspection.verifyOwner(path)
        guard LogFrames(LogInspection.log(path))?.damage != nil else {
            throw .unusable("its write-ahead log is not damaged")
        }
        do {
            let queue = try DatabaseQueue(path: path)
            let count = try queue.inDatabase { database in
                guard try JournalSchema.check(database) > 0 else {
                    throw JournalFileFault.notAJournal
                }
                try database.execute(sql: "PRAGMA synchronous = FULL")
                // Eight of the digits that generations have.
                try database.execute(
                    sql: """
                        UPDATE sessions SET generation = lower(hex(randomblob(4)))
                        WHERE id IS NOT NULL
                        """)
                let count = database.changesCount
                try database.checkpoint(.truncate)
                return count
            }
            try queue.close()
            return count
        } catch {
            throw JournalFileFault(error)
        }
    }
}
