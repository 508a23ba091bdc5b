internal import GRDB

/// Copies a whole journal at one point in time, while a server may be using it.
package struct JournalBackup: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Writes to `<copy>.backup`, flushes it, and renames it when it is complete.
    ///
    /// - Throws: ``JournalFileFault``: `copy` exists, or one of the two can't be read or written.
    package func run(
        to copy: String, _ progress: ToolProgress = .silent
    ) throws(JournalFileFault) {
        let file = try JournalFile(path)
        let partial = try PartialFile(of: copy, suffix: ".backup")
        do {
            let other = try DatabaseQueue(path: partial.path)
            try file.copy(to: other, progress)
            // If the copy replaces the file, its mark shows that the old log belongs to another
            // file.
            try other.inDatabase { copy in
                _ = try FileMark.prepare(copy)
                try FileMark().write(copy)
            }
            try other.close()
        } catch {
            partial.abandon()
            throw JournalFileFault(error)
        }
        try partial.finish()
    }
}

/// Rewrites a journal without its free space. It cannot run while a server uses the journal: the
/// file would be locked for the whole time.
package struct JournalCompaction: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// - Returns: The file's size in bytes before and after.
    ///
    /// - Throws: ``JournalFileFault``: a server uses it (`locked`), or it can't be written; it
    ///   temporarily needs up to twice the file's size.
    package func run() throws(JournalFileFault) -> (before: Int, after: Int) {
        // A lock file beside a journal that does not exist would only cause confusion.
        _ = try JournalFile(path)
        let lock = try JournalLock(for: path)
        defer { lock.release() }
        do {
            // The page of the mark moves.
            _ = lock.record(nil)
            let queue = try DatabaseQueue(path: path)
            let sizes = try queue.inDatabase { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                let before = try Self.size(database)
                try database.execute(sql: "VACUUM")
                try database.checkpoint(.truncate)
                return (before: before, after: try Self.size(database))
            }
            try queue.close()
            return sizes
        } catch {
            throw JournalFileFault(error)
        }
    }

    private static func size(_ database: Database) throws -> Int {
        Int(
            (try database.integer("PRAGMA page_size") ?? 0)
                * (try database.integer("PRAGMA page_count") ?? 0))
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
    /// - Throws: ``JournalFileFault``: a server uses it (`locked`), its log is whole, or it can't be
    ///   written.
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
