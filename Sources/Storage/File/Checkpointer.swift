internal import Dispatch
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Brings what is in the write-ahead log into the database, beside the writer.
///
/// SQLite's own checkpoints happen inside a commit, which then waits until megabytes are written
/// and flushed. Here another connection does it (`PASSIVE`: it waits for nobody and holds up
/// nobody). While commits go on it never gets to the end of the log, which could begin anew only
/// there: so, when it is nearly there, the writer does the little rest between two groups.
///
/// How long the log gets: about ``finishPages``. It is longer while a reader from elsewhere keeps
/// an old transaction open, for then nothing after that can be brought in; commits go on.
final class Checkpointer: Sendable {
    private struct Book {
        var pages = 0
        /// The log's length when the last checkpoint began.
        var triedAt = 0
        /// Checkpoints that got to where the log ended when they began, since it began anew.
        var passes = 0
        var isRunning = false
        var isStopped = false

        /// What the last of them left.
        var rest: Int { pages - triedAt }

        /// Law: never true while one more checkpoint beside the writer is to begin.
        var wantsWriter: Bool {
            guard !isRunning, passes > 0, pages >= Checkpointer.finishPages else { return false }
            return rest <= Checkpointer.restPages || passes >= Checkpointer.passLimit
        }
    }

    private let path: String
    private let queue = DispatchQueue(label: "journal.checkpoint", qos: .utility)
    private let book = Mutex(Book())
    /// Kept between checkpoints: opening one costs more than many a checkpoint.
    private let connection = Mutex<DatabaseQueue?>(nil)

    /// 8 MiB. SQLite's own default is half of it; but a checkpoint flushes the database, for which
    /// flushes of commits have to wait, and so it should be rare.
    static let startPages = 2_000
    /// 24 MiB.
    static let finishPages = 6_000
    /// 8 MiB: what the writer may be asked to do while commits wait.
    static let restPages = 2_000
    /// Where the disk is so slow that each checkpoint leaves more than that, the writer does it
    /// after so many: it can't be as fast as it wants to be, and the log must end somewhere.
    static let passLimit = 3

    init(path: String) { self.path = path }

    /// Takes the place of SQLite's automatic checkpoints on the writer's connection.
    func watch(_ database: Database) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // Law: the writer owns this object and its connection, so it outlives the hook.
        unsafe sqlite3_wal_hook(
            database.sqliteConnection,
            { context, _, _, pages in
                guard let context = unsafe context else { return SQLITE_OK }
                unsafe Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue()
                    .grew(to: Int(pages))
                return SQLITE_OK
            }, context)
    }

    func stop() {
        book.withLock { $0.isStopped = true }
        queue.sync { letGo() }
    }

    /// Whether the writer should do the rest.
    var wantsWriter: Bool { book.withLock { $0.wantsWriter } }

    func finish(on database: DatabaseQueue) {
        book.withLock { book in
            book.passes = 0
            book.triedAt = book.pages
        }
        do {
            _ = try database.inDatabase { try $0.checkpoint(.passive) }
        } catch {
            // What is in the log is on disk there; the next checkpoint begins where this ended.
        }
    }

    private func grew(to pages: Int) {
        let starts = book.withLock { book -> Bool in
            if pages < book.pages {
                book.triedAt = 0
                book.passes = 0
            }
            book.pages = pages
            guard book.rest >= Self.startPages, !book.wantsWriter, !book.isRunning, !book.isStopped
            else { return false }
            book.isRunning = true
            book.triedAt = pages
            return true
        }
        if starts { queue.async { [self] in run() } }
    }

    private func connect() throws -> DatabaseQueue {
        try connection.withLock { connection in
            if let connection { return connection }
            var configuration = Configuration()
            configuration.label = "journal.checkpoint"
            configuration.busyMode = .immediateError
            let fresh = try DatabaseQueue(path: path, configuration: configuration)
            connection = fresh
            return fresh
        }
    }

    private func letGo() {
        connection.withLock { connection in
            do {
                try connection?.close()
            } catch {
                // It only read the log and wrote what is in it.
            }
            connection = nil
        }
    }

    private func run() {
        var isDone = false
        do {
            let (log, done) = try connect().inDatabase { try $0.checkpoint(.passive) }
            isDone = log == done
        } catch {
            // The log stays longer; the next commits ask again, and a failing disk is told by them.
            letGo()
        }
        book.withLock { book in
            book.isRunning = false
            book.passes = isDone ? book.passes + 1 : 0
        }
    }
}
