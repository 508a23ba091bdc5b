internal import GRDB

/// A journal's file, opened to read it at one point in time; a server may be using it.
///
/// During a read the file's write-ahead log can't restart and grows with the server's commits.
final class JournalFile {
    let path: String
    private let queue: DatabaseQueue
    /// Whether there was a write-ahead log before.
    private let hadLog: Bool
    private let identity: FileIdentity?

    init(_ path: String) throws(JournalFileFault) {
        self.path = path
        guard FileIdentity(path) != nil else { throw .unusable("there is no such file") }
        try LogInspection.verify(path)
        hadLog = FileIdentity(LogInspection.log(path)) != nil
        identity = FileIdentity(path)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
            let version = try queue.inDatabase { try JournalSchema.check($0) }
            guard version > 0 else { throw JournalFileFault.notAJournal }
            guard version == JournalSchema.version else {
                throw JournalFileFault.unusable("a server of this version must open it once")
            }
        } catch {
            throw JournalFileFault(error)
        }
    }

    /// A reader creates a log and an index if there are none, and cannot remove them. The last
    /// connection removes them when it closes, if it can write.
    ///
    /// Another file may be at the path by now, and SQLite would apply the log to it.
    deinit {
        guard !hadLog, identity == FileIdentity(path) else { return }
        do {
            try queue.close()
            try LogInspection.verify(path)
            let last = try DatabaseQueue(path: path)
            // Without a read it would not have opened the log.
            _ = try last.inDatabase { try JournalSchema.check($0) }
            try last.close()
        } catch {
            // They remain if the folder or the disk cannot be written; they are empty.
        }
    }

    /// Runs reads that all see the same state of the file.
    func read<Value>(_ act: (Database) throws -> Value) throws(JournalFileFault) -> Value {
        do {
            return try view(act)
        } catch {
            throw JournalFileFault(error)
        }
    }

    /// The same; errors thrown by `act` are passed on unchanged.
    func view<Value>(_ act: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.read(act)
        } catch let error as DatabaseError {
            throw JournalFileFault(error)
        }
    }

    /// Writes all pages as of one moment to a new file, which is not flushed. Other processes may
    /// commit meanwhile.
    func copyPages(into copy: String) throws(JournalFileFault) {
        do {
            let other = try DatabaseQueue(path: copy)
            try queue.backup(to: other)
            try other.close()
        } catch {
            throw JournalFileFault(error)
        }
    }

    /// Writes the contents as of one moment to a new or empty file. Other processes may commit
    /// meanwhile. Does not flush the file.
    func vacuum(into copy: String) throws {
        try queue.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
    }
}
