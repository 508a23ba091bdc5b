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
