internal import GRDB

/// A journal's file, opened to be read as it is at one moment; a server may be using it.
///
/// While it is read, the file's write-ahead log can't begin anew and grows with what the server
/// commits.
struct JournalFile {
    let path: String
    private let queue: DatabaseQueue

    /// - Throws: ``JournalFileFault``.
    init(_ path: String) throws(JournalFileFault) {
        self.path = path
        guard FileIdentity(path) != nil else { throw .unusable("there is no such file") }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
            let version = try queue.inDatabase { try JournalSchema.check($0) }
            guard version > 0 else { throw JournalFileFault.notAJournal }
            guard version == JournalSchema.version else {
                throw JournalFileFault.unusable("a server of this version has to open it once")
            }
        } catch {
            throw JournalFileFault(error)
        }
    }

    /// Everything that is read inside is of one moment.
    func read<Value>(_ act: (Database) throws -> Value) throws(JournalFileFault) -> Value {
        do {
            return try view(act)
        } catch {
            throw JournalFileFault(error)
        }
    }

    /// The same; what `act` throws of its own comes out as it is.
    func view<Value>(_ act: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.read(act)
        } catch let error as DatabaseError {
            throw JournalFileFault(error)
        }
    }

    /// Copies it as it is at one moment, while others commit.
    ///
    /// SQLite begins a copy anew when the file changes between two steps, unless the connection has
    /// looked into it before, in the same transaction: then all steps see that moment.
    /// Source: `sqlite3_backup_step`, `bCloseTrans`.
    func copy(to other: DatabaseQueue, pagesPerStep: Int32 = 4_096, _ progress: ToolProgress) throws
    {
        try other.inDatabase { copy in
            try queue.read { database in
                _ = try database.integer("SELECT max(row) FROM sessions")
                try database.backup(to: copy, pagesPerStep: pagesPerStep) { step in
                    progress.tell(UInt64(step.completedPageCount), of: UInt64(step.totalPageCount))
                }
            }
        }
    }
}

/// Reports how far a tool is. Called often: the receiver decides when to show it.
package struct ToolProgress: Sendable {
    private let report: @Sendable (_ done: UInt64, _ all: UInt64) -> Void

    package init(_ report: @escaping @Sendable (_ done: UInt64, _ all: UInt64) -> Void) {
        self.report = report
    }

    package static let silent = ToolProgress { _, _ in }

    func tell(_ done: UInt64, of all: UInt64) { report(done, all) }
}
