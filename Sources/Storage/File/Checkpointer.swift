internal import Dispatch
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Copies the write-ahead log into the database, concurrently with the writer.
///
/// SQLite's own checkpoints run inside a commit, which then waits until megabytes are written and
/// flushed. Here another connection runs them (`PASSIVE`: it waits for no lock and blocks no other
/// connection). During commits it never reaches the end of the log, and only there the log can
/// restart. So, once the log is long enough, checkpoints follow each other at once, each shorter
/// than the previous one, until the writer copies the small rest between two groups.
///
/// The length of the log is about ``finishPages``. It is longer while another process keeps an old
/// transaction open, because later pages can't be copied then; commits continue.
///
/// When a flush of the database fails, pages copied since the log restarted may be lost, but SQLite
/// counts them as copied. So checkpoints stop until the writer has copied the whole log again.
final class Checkpointer: Sendable {
    private struct State {
        var pages = 0
        /// The log's length when the last checkpoint began.
        var triedAt = 0
        /// Checkpoints since the log became long enough to restart.
        var passes = 0
        /// Whether the last checkpoint reached the end that the log had when it began.
        var isThrough = false
        var isRunning = false
        var isStopped = false
        /// Whether a flush of the database has failed.
        var isInDoubt = false

        var rest: Int { pages - triedAt }
        var isLong: Bool { pages >= Checkpointer.finishPages }

        /// Invariant: never true while another concurrent checkpoint is due.
        var wantsWriter: Bool {
            guard !isRunning, !isInDoubt, isThrough, isLong, passes > 0 else { return false }
            return rest <= Checkpointer.restPages || passes >= Checkpointer.passLimit
        }

        var wantsPass: Bool {
            guard !isRunning, !isStopped, !isInDoubt, !wantsWriter else { return false }
            // A checkpoint that a reader blocked is tried again when there is more to copy.
            return passes > 0 && isThrough ? rest > 0 : rest >= Checkpointer.startPages
        }
    }

    private let path: String
    private let queue = DispatchQueue(label: "journal.checkpoint", qos: .utility)
    private let state = Mutex(State())
    /// Kept between checkpoints: opening a connection costs more than many checkpoints do.
    private let connection = Mutex<DatabaseQueue?>(nil)

    /// 8 MiB. SQLite's own default is half of it; but a checkpoint flushes the database, and
    /// flushes of commits have to wait for that, so it should be rare.
    static let startPages = 2_000
    /// 24 MiB: the length at which the log restarts.
    static let finishPages = 6_000
    /// 256 KiB: the work that the writer may do while commits wait.
    static let restPages = 64
    /// If the disk is so slow that each checkpoint leaves more than that, the writer copies the
    /// rest after this many passes: commits slow down, but the log must not grow without limit.
    static let passLimit = 6

    init(path: String) { self.path = path }

    /// Replaces SQLite's automatic checkpoints on the writer's connection.
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
        state.withLock { $0.isStopped = true }
        rest()
    }

    /// Waits for the current checkpoint and closes the file.
    func rest() { queue.sync { letGo() } }

    /// Whether pages copied into the database may be lost.
    var isInDoubt: Bool { state.withLock { $0.isInDoubt } }

    /// Stops checkpoints until the files have been reopened.
    func invalidate() { state.withLock { $0.isInDoubt = true } }

    /// Resets the state after the whole log was copied again and flushed: the log restarts.
    func beginAnew() {
        state.withLock { state in
            let isStopped = state.isStopped
            state = State()
            state.isStopped = isStopped
        }
    }

    /// The length of the log; 0 before the first commit.
    var pages: Int { state.withLock { $0.pages } }

    /// Whether the writer should copy the rest.
    var wantsWriter: Bool { state.withLock { $0.wantsWriter } }

    func finish(on database: DatabaseQueue) {
        state.withLock { state in
            state.passes = 0
            state.isThrough = false
            state.triedAt = state.pages
        }
        do {
            _ = try database.inDatabase { try $0.checkpoint(.passive) }
        } catch {
            // The log itself is on disk; the next checkpoint starts where this one ended.
            invalidateAfterFailedFlush(error)
        }
    }

    private func grew(to pages: Int) {
        let starts = state.withLock { state -> Bool in
            if pages < state.pages {
                state.triedAt = 0
                state.passes = 0
                state.isThrough = false
            }
            state.pages = pages
            guard state.wantsPass else { return false }
            state.isRunning = true
            state.triedAt = pages
            if state.isLong { state.passes += 1 }
            return true
        }
        if starts { queue.async { [self] in run() } }
    }

    private func invalidateAfterFailedFlush(_ error: any Error) {
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
                // This connection only read the log and copied it.
            }
            connection = nil
        }
    }

    /// SQLite flushes the database only at the end of the log, which only the writer reaches:
    /// earlier copies would be flushed while commits wait. Measured: 7 ms, twice a second.
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
            // The log stays longer; the next commits try again and report the failing disk.
            invalidateAfterFailedFlush(error)
            letGo()
        }
        state.withLock { state in
            state.isRunning = false
            state.isThrough = isDone
        }
    }
}
