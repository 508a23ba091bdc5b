internal import Dispatch
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Brings what is in the write-ahead log into the database, beside the writer.
///
/// SQLite's own checkpoints happen inside a commit, which then waits for two more flushes. Here
/// another connection does it, on a queue of its own (`PASSIVE`: it never waits for, or holds up,
/// anybody). A log that grows past ``limitPages`` because it is never quiet is emptied by the
/// writer at the end of a group, once.
final class Checkpointer: Sendable {
    private struct Book {
        var pages = 0
        var isRunning = false
        var isStopped = false
    }

    private let path: String
    private let queue = DispatchQueue(label: "journal.checkpoint", qos: .utility)
    private let book = Mutex(Book())

    /// 4 MiB of pages, as SQLite's own default.
    static let startPages = 1_000
    /// 256 MiB.
    static let limitPages = 65_536

    init(path: String) { self.path = path }

    /// Takes the place of SQLite's automatic checkpoints on the writer's connection.
    func watch(_ database: Database) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // Law: the writer owns this object and its connection, so it outlives the hook.
        unsafe sqlite3_wal_hook(
            database.sqliteConnection,
            { context, connection, name, pages in
                guard let context = unsafe context else { return SQLITE_OK }
                let checkpointer = unsafe Unmanaged<Checkpointer>.fromOpaque(context)
                    .takeUnretainedValue()
                if checkpointer.grew(to: Int(pages)) {
                    unsafe sqlite3_wal_checkpoint_v2(
                        connection, name, SQLITE_CHECKPOINT_RESTART, nil, nil)
                }
                return SQLITE_OK
            }, context)
    }

    func stop() { book.withLock { $0.isStopped = true } }

    /// Answers whether the writer itself has to empty the log.
    private func grew(to pages: Int) -> Bool {
        let starts = book.withLock { book -> Bool in
            guard pages >= Self.startPages, !book.isRunning, !book.isStopped else { return false }
            book.isRunning = true
            return true
        }
        if starts { queue.async { [self] in run() } }
        return pages >= Self.limitPages
    }

    private func run() {
        defer { book.withLock { $0.isRunning = false } }
        do {
            var configuration = Configuration()
            configuration.busyMode = .immediateError
            let connection = try DatabaseQueue(path: path, configuration: configuration)
            try connection.inDatabase { _ = try $0.checkpoint(.passive) }
            try connection.close()
        } catch {
            // The log stays longer; the next commit asks again, and a failing disk is told by it.
        }
    }
}
