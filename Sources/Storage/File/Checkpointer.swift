internal import Dispatch
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Brings what is in the write-ahead log into the database, beside the writer.
///
/// SQLite's own checkpoints happen inside a commit, which then waits until megabytes are written
/// and flushed. Here another connection does it (`PASSIVE`: it waits for nobody and holds up
/// nobody). While there are commits it never gets to the end of the log, which could begin anew only
/// there. So, once the log is long enough, checkpoints follow each other at once, each shorter
/// than the one before, until the little rest is done by the writer between two groups.
///
/// How long the log gets: about ``finishPages``. It is longer while a reader from elsewhere keeps
/// an old transaction open, for then nothing after that can be brought in; commits go on.
///
/// When a flush of the database fails, what was brought in since the log began may be lost, and
/// SQLite, which counts it as brought in, would begin the log anew all the same. So there are no
/// checkpoints from then on, until the writer has brought it all in once more.
final class Checkpointer: Sendable {
    private struct Book {
        var pages = 0
        /// The log's length when the last checkpoint began.
        var triedAt = 0
        /// Checkpoints since the log is long enough to begin anew.
        var passes = 0
        /// Whether the last of them got to where the log ended when it began.
        var isThrough = false
        var isRunning = false
        var isStopped = false
        /// A flush of the database has failed.
        var isInDoubt = false

        /// Pages that the last of them has left.
        var rest: Int { pages - triedAt }
        var isLong: Bool { pages >= Checkpointer.finishPages }

        /// Invariant: never true while one more checkpoint beside the writer is to begin.
        var wantsWriter: Bool {
            guard !isRunning, !isInDoubt, isThrough, isLong, passes > 0 else { return false }
            return rest <= Checkpointer.restPages || passes >= Checkpointer.passLimit
        }

        var wantsPass: Bool {
            guard !isRunning, !isStopped, !isInDoubt, !wantsWriter else { return false }
            // One that was held up by a reader is tried again when there is more to do.
            return passes > 0 && isThrough ? rest > 0 : rest >= Checkpointer.startPages
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
    /// 256 KiB: what the writer may be asked to do while commits wait.
    static let restPages = 64
    /// Where the disk is so slow that each checkpoint leaves more than that, the writer does it
    /// after so many: it can't be as fast as it wants to be, and the log must end somewhere.
    static let passLimit = 6

    init(path: String) { self.path = path }

    /// Takes the place of SQLite's automatic checkpoints on the writer's connection.
    func watch(_ database: Database) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // Invariant: the writer owns this object and its connection, so it outlives the hook.
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
        rest()
    }

    /// Waits for the checkpoint that is under way, and lets go of the file.
    func rest() { queue.sync { letGo() } }

    /// Whether what was brought into the database may be lost.
    var isInDoubt: Bool { book.withLock { $0.isInDoubt } }

    /// No checkpoints until the files were opened anew.
    func invalidate() { book.withLock { $0.isInDoubt = true } }

    /// All of the log was brought in once more, and flushed: it begins anew.
    func beginAnew() {
        book.withLock { book in
            let isStopped = book.isStopped
            book = Book()
            book.isStopped = isStopped
        }
    }

    /// How long the log is; 0 before the first commit.
    var pages: Int { book.withLock { $0.pages } }

    /// Whether the writer should do the rest.
    var wantsWriter: Bool { book.withLock { $0.wantsWriter } }

    func finish(on database: DatabaseQueue) {
        book.withLock { book in
            book.passes = 0
            book.isThrough = false
            book.triedAt = book.pages
        }
        do {
            _ = try database.inDatabase { try $0.checkpoint(.passive) }
        } catch {
            // The log itself is on disk; the next checkpoint begins where this one ended.
            note(error)
        }
    }

    private func grew(to pages: Int) {
        let starts = book.withLock { book -> Bool in
            if pages < book.pages {
                book.triedAt = 0
                book.passes = 0
                book.isThrough = false
            }
            book.pages = pages
            guard book.wantsPass else { return false }
            book.isRunning = true
            book.triedAt = pages
            if book.isLong { book.passes += 1 }
            return true
        }
        if starts { queue.async { [self] in run() } }
    }

    private func note(_ error: any Error) {
        guard let error = error as? DatabaseError,
            error.extendedResultCode == .SQLITE_IOERR_FSYNC
        else { return }
        invalidate()
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

    /// SQLite flushes the database only at the end of the log, which the writer alone gets to: all
    /// that was brought in before would have to be flushed while commits wait. Measured: 7 ms,
    /// twice a second under load.
    private static func flush(_ database: Database) throws {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let found = unsafe sqlite3_file_control(
            database.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard found == SQLITE_OK, let file = unsafe file,
            let flush = unsafe file.pointee.pMethods.pointee.xSync
        else { return }
        let code = unsafe flush(file, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    private func run() {
        var isDone = false
        do {
            isDone = try connect().inDatabase { database in
                let (log, done) = try database.checkpoint(.passive)
                try Self.flush(database)
                return log == done
            }
        } catch {
            // The log stays longer; the next commits ask again, and a failing disk is told by them.
            note(error)
            letGo()
        }
        book.withLock { book in
            book.isRunning = false
            book.isThrough = isDone
        }
    }
}
