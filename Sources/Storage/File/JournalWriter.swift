internal import GRDB

/// The one connection that writes.
///
/// Why unchecked: everything but `init` and `open` in the journal's `init` is called on the
/// journal's queue alone, which is what makes it the one writer.
final class JournalWriter: @unchecked Sendable {
    let path: String
    let retention: JournalRetention
    let tail = TailIndex()
    let heads: SessionHeads
    let maintenance: Maintenance
    private let checkpointer: Checkpointer
    private var database: DatabaseQueue?
    /// The file as it was when it was first opened.
    private var identity: FileIdentity?
    /// The write-ahead log and its index, as they were when the connection was opened; nil while
    /// there is none.
    private var logIdentity: FileIdentity?
    private var indexIdentity: FileIdentity?
    private var nextPlace: Int64 = 1
    private var preallocator: WALPreallocator?
    /// Whether a commit that failed may be in the log all the same. This process does not see it
    /// there; a start after a crash would, until something else is written in its place.
    private(set) var isUnsettled = false

    init(path: String, retention: JournalRetention, now: @escaping @Sendable () -> Int64) {
        self.path = path
        self.retention = retention
        heads = SessionHeads(tail: tail, keeping: retention)
        maintenance = Maintenance(retention: retention, tail: tail, heads: heads, now: now)
        checkpointer = Checkpointer(path: path)
    }

    // MARK: The file

    func open() throws(JournalFileFault) {
        // A file that was replaced must not be taken for the journal that is in memory.
        if let identity {
            guard identity == FileIdentity(path) else { throw .replaced }
        }
        do {
            let fresh = try connect()
            try fresh.inDatabase { database in
                try Self.removeStrays(database)
                try tail.rebuild(database)
                try heads.reset(database)
                preallocator = try WALPreallocator(database)
                nextPlace = try database.next(after: "SELECT max(place) FROM tail")
            }
            maintenance.reset()
            database = fresh
        } catch {
            throw JournalFileFault(error)
        }
        identity = identity ?? FileIdentity(path)
        logIdentity = FileIdentity(path + "-wal")
        indexIdentity = FileIdentity(path + "-shm")
    }

    /// Removes rows of the tail that belong to no session. Earlier versions could leave the last
    /// record of a deleted session there.
    private static func removeStrays(_ database: Database) throws {
        let strays = "FROM tail WHERE session NOT IN (SELECT row FROM sessions)"
        // Nothing is written to a file that has none, which is nearly every one.
        guard try database.integer("SELECT count(*) \(strays)") ?? 0 > 0 else { return }
        try database.inWriteTransaction {
            try database.cachedStatement(sql: "DELETE \(strays)").run()
        }
    }

    /// Whether the paths still lead to what is open. SQLite would continue to write where no path leads
    /// any more: flushed, and gone with the process. Precedent: SQLite's `SQLITE_FCNTL_HAS_MOVED`,
    /// which it heeds when it closes, and not when it commits.
    var filesAreCurrent: Bool {
        database == nil
            || identity == FileIdentity(path) && logIdentity == FileIdentity(path + "-wal")
    }

    /// Whether another process would share the log's index with this one. It holds nothing that
    /// the log does not have, so once a second is often enough to ask.
    var indexIsCurrent: Bool {
        database == nil || indexIdentity == FileIdentity(path + "-shm")
    }

    /// Makes good that somebody removed the write-ahead log, or its index: brings all of it into the
    /// database, and wants the files opened anew. Nil if the journal is where it was then.
    ///
    /// A database that was moved or removed is waited for; it may come back.
    func reopenIfReplaced() -> JournalFailure? {
        guard let database, !filesAreCurrent || !indexIsCurrent else { return nil }
        guard identity == FileIdentity(path) else {
            return JournalFailure(JournalFileFault.replaced, systemCode: 0)
        }
        checkpointer.rest()
        do {
            _ = try database.inDatabase { try $0.checkpoint(.truncate) }
        } catch {
            return JournalFailure(error, systemCode: 0)
        }
        checkpointer.invalidate()
        return nil
    }

    private func connect() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "journal.file"
        configuration.busyMode = .timeout(2)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.inDatabase { database in
            // Before anything is written: a file that is not ours is left as it is.
            try JournalSchema.prepare(database)
            guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                throw JournalFileFault.unusable("it can't be put into WAL mode")
            }
            // GRDB's own WAL set-up chooses NORMAL, which may lose what was acknowledged.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try database.integer("PRAGMA synchronous") == 2 else {
                throw JournalFileFault.unusable("synchronous = FULL is not in force")
            }
            // Debian's SQLite overwrites whatever is removed, pages that become free too.
            try database.execute(sql: "PRAGMA secure_delete = FAST")
            // A log that had to grow gives back what it took.
            try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
            try database.execute(sql: "PRAGMA cache_size = -16384")
            checkpointer.watch(database)
        }
        return queue
    }

    /// Actions whose effects had not ended when the last process did, those that were begun most
    /// often first. Of very many only some are looked at.
    func runningActions(limit: Int) -> [InterruptedWork] {
        var found: [InterruptedWork] = []
        // For the log alone: a file that can't be read is reported by the code that needs it.
        try? database?.inDatabase { database in
            try database.cachedStatement(
                sql: """
                    SELECT sessions.id, sessions.reactor, some.action, some.begun
                    FROM (SELECT session, action, begun FROM running LIMIT 10000) AS some
                    JOIN sessions ON sessions.row = some.session
                    WHERE sessions.id IS NOT NULL ORDER BY some.begun DESC LIMIT ?
                    """
            ).each(.integer(Int64(limit))) { row in
                found.append(
                    InterruptedWork(
                        session: row.string(0), reactor: row.string(1), action: try row.number(2),
                        trace: .running(begun: Int(clamping: row.integer(3)))))
                return true
            }
        }
        return found
    }

    func pragma(_ name: String) -> Int64? {
        // To the caller no connection and no answer are the same.
        try? database?.inDatabase { try $0.integer("PRAGMA \(name)") }
    }

    /// False if the file stays open in this process.
    @discardableResult
    func close() -> Bool {
        checkpointer.stop()
        if isInDoubt, let database {
            // Closed, it would empty the log; left open it does not, and any start can continue.
            _ = unsafe Unmanaged.passRetained(database)
            self.database = nil
            return false
        }
        return letGo()
    }

    /// After a failure nothing that the connection believes is believed: a flush that failed may
    /// have lost pages that it would not write again. The index of the tail stays for those who
    /// read: it says what was committed before.
    ///
    /// False if it could not be closed; every commit that was acknowledged is on disk already.
    @discardableResult
    private func letGo() -> Bool {
        defer { database = nil }
        do {
            try database?.close()
            return true
        } catch {
            return false
        }
    }

    // MARK: Writing

    /// Commits every batch that continues what the file has, in one transaction; answers for each
    /// why it does not, if it does not.
    func write(_ group: [Batch]) -> Result<[JournalFailure?], JournalFailure> {
        attempt { database in
            heads.shrink()
            var refusals: [JournalFailure?] = []
            var rows = RowWriter(
                database: database, heads: heads, maintenance: maintenance, nextPlace: nextPlace)
            try inWriteTransaction(of: database) {
                preallocator?.make(behind: checkpointer.pages, database)
                for batch in group {
                    let refusal = try heads.validate(batch, database)
                    if refusal == nil { try rows.write(batch) }
                    refusals.append(refusal)
                }
                try rows.finish()
                maintenance.charge(for: rows.added.count, bytes: rows.bytes)
                maintenance.charge(forAhead: rows.bytesAhead)
                try maintenance.work(database)
            }
            nextPlace = rows.nextPlace
            tail.remove(rows.ahead)
            tail.append(rows.added)
            maintenance.committed()
            return refusals
        }
    }

    /// Notes whether what failed may have been committed: only the end of it can have been.
    private func inWriteTransaction(
        of database: Database, _ act: () throws -> Void
    ) throws {
        var isDecided = false
        do {
            try database.inWriteTransaction {
                try act()
                isDecided = true
            }
        } catch {
            isUnsettled = isDecided && (error as? DatabaseError)?.isRefusedWrite != true
            throw error
        }
    }

    /// Brings in what checkpoints beside the writer can't: what was written meanwhile.
    func finishCheckpoint() {
        guard checkpointer.wantsWriter, let database else { return }
        checkpointer.finish(on: database)
    }

    // MARK: Between groups

    /// Whether a write reaches the disk; nil if it does.
    func probe() -> JournalFailure? {
        let result = attempt { database in
            try database.inTransaction(.immediate) {
                // The page that holds it is written and flushed, changed or not.
                let version = try database.integer("PRAGMA user_version") ?? 0
                try database.execute(sql: "PRAGMA user_version = \(version)")
                return .commit
            }
        }
        guard case .failure(let failure) = result else {
            // It stands where the commit stood that failed.
            isUnsettled = false
            return nil
        }
        return failure
    }

    /// Whether what checkpoints have written may be lost: a flush of the database failed.
    var isInDoubt: Bool { checkpointer.isInDoubt }

    /// Brings all that is in the log into the database once more; nil if that reached the disk.
    ///
    /// SQLite would not do it: it counts as brought in what it wrote before the flush that failed.
    /// Only a connection that opens the file when no other has it open begins to count anew.
    ///
    /// A commit that failed is written over first: who finds it in the log would bring it in, and
    /// readers that have seen meanwhile that it did not happen would never know.
    func bringInAnew(_ archive: FileArchive) -> JournalFailure? {
        if isUnsettled, let failure = probe() { return failure }
        do {
            // While another connection is there, the last one that can write leaves the log alone;
            // and the last one of all can't write.
            let anchor = try FileArchive.anchor(path)
            letGo()
            checkpointer.rest()
            try archive.suspendReads()
            let emptied = Result {
                try anchor.close()
                try emptyLog()
            }
            // Reads resume in either case; if they cannot, all of this is done again.
            try archive.resumeReads()
            try emptied.get()
        } catch {
            return JournalFailure(error, systemCode: 0)
        }
        checkpointer.beginAnew()
        return probe()
    }

    private func emptyLog() throws {
        var configuration = Configuration()
        configuration.label = "journal.renewal"
        configuration.busyMode = .timeout(2)
        configuration.prepareDatabase { database in
            // Refused while another process reads the file. Set before the first look: what the
            // connection knows of the log is its own then, and made from the log.
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        let alone = try DatabaseQueue(path: path, configuration: configuration)
        _ = try alone.inDatabase { try $0.checkpoint(.truncate) }
        try alone.close()
    }

    /// Waits for the checkpoint that is under way.
    func endCheckpoint() { checkpointer.rest() }

    /// One step of housekeeping; whether there is more to do at once.
    func keepHouse() -> Result<Bool, JournalFailure> {
        guard maintenance.areDue else { return .success(false) }
        return attempt { database in
            maintenance.charge(all: retention.stepRows)
            try database.inTransaction(.immediate) {
                try maintenance.work(database)
                return .commit
            }
            maintenance.committed()
            return maintenance.areDue
        }
    }

    private func attempt<Value>(
        _ act: (Database) throws -> Value
    ) -> Result<Value, JournalFailure> {
        do {
            if database == nil { try open() }
            guard let database else { throw JournalFileFault.unusable("it is closed") }
            let result = database.inDatabase { database -> Result<Value, JournalFailure> in
                do {
                    return .success(try act(database))
                } catch {
                    return .failure(JournalFailure(error, systemCode: database.systemCode))
                }
            }
            if case .failure = result { letGo() }
            return result
        } catch {
            letGo()
            return .failure(JournalFailure(error, systemCode: 0))
        }
    }
}
