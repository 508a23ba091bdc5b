internal import GRDB

/// The only connection that writes.
///
/// Why unchecked: everything except `init` and the `open` in the journal's `init` is called only on
/// the journal's queue, which makes it the one writer.
final class JournalWriter: @unchecked Sendable {
    let path: String
    let retention: JournalRetention
    let tail = TailIndex()
    let heads: SessionHeads
    let maintenance: Maintenance
    let expiries = ExpiryBacklog()
    let checkpointer: Checkpointer
    private var database: DatabaseQueue?
    private var files: OpenFiles
    private var nextTailSequence: Int64 = 1
    private var preallocator: WALPreallocator?
    /// Whether a failed commit may be in the log nevertheless. This process does not see it there;
    /// a process that starts after a crash would, until another commit overwrites it.
    private(set) var isUnsettled = false

    init(path: String, retention: JournalRetention, now: @escaping @Sendable () -> Int64) {
        self.path = path
        self.retention = retention
        files = OpenFiles(path: path)
        heads = SessionHeads(tail: tail, keeping: retention)
        maintenance = Maintenance(
            retention: retention, tail: tail, heads: heads, expiries: expiries, now: now)
        checkpointer = Checkpointer(path: path)
    }

    // MARK: The file

    func open() throws(JournalFileFault) {
        // Another file must not be mistaken for the journal that memory describes.
        guard !files.wereOpened || files.databaseIsAtPath else { throw .replaced }
        do {
            let fresh = try connect()
            try fresh.inDatabase { database in
                try Self.removeStrays(database)
                try tail.rebuild(database)
                try heads.reset(database)
                preallocator = try WALPreallocator(database)
                nextTailSequence = try database.next(after: "SELECT max(place) FROM tail")
            }
            maintenance.reset()
            database = fresh
        } catch {
            throw JournalFileFault(error)
        }
        files.recordOpening()
    }

    /// Draws another ``FileMark`` for this opening of the file.
    ///
    /// However the process ends, the lock file names every mark that the file may have: it gets a
    /// new mark before the database does, and keeps the old one until the new one is in the file.
    /// It gets the first mark of a file once that is in the file.
    func renewMark(noting lock: JournalLock) {
        guard let database else { return }
        // If the disk fails or is full, the marks and the note stay as they are.
        try? database.inDatabase { database in
            let page = try FileMark.prepare(database)
            let fresh = FileMark()
            let inFile = FileMark.inFile(path, page: page)
            let old = [inFile, try FileMark.present(database)].compactMap(\.self)
            let possible = [fresh] + old + (lock.note?.marks ?? [])
            guard lock.record(inFile.map { _ in MarkNote(page: page, marks: possible) }) else {
                return
            }
            try database.inWriteTransaction {
                try fresh.write(database)
                try JournalOrigin.prepare(database)
            }
            // Passive: waits for no reader. With a reader the file gets the mark later.
            _ = try database.checkpoint(.passive)
            guard FileMark.inFile(path, page: page) == fresh else { return }
            _ = lock.record(MarkNote(page: page, marks: [fresh]))
        }
    }

    /// Removes rows of the tail without a session, which earlier versions could leave.
    private static func removeStrays(_ database: Database) throws {
        let strays = "FROM tail WHERE session NOT IN (SELECT row FROM sessions)"
        // A file without such rows, which is nearly every one, is not written to.
        guard try database.integer("SELECT count(*) \(strays)") ?? 0 > 0 else { return }
        try database.inWriteTransaction {
            try database.run("DELETE \(strays)")
        }
    }

    /// Whether the paths still name the open files. SQLite would continue to write to a file
    /// without a path: flushed, and lost with the process. Precedent: SQLite's
    /// `SQLITE_FCNTL_HAS_MOVED`, which it checks on closing, but not on committing.
    var filesAreCurrent: Bool { database == nil || files.areAtPaths }

    /// Whether another process would share the log's index with this one. The index holds no data
    /// that the log does not have, so checking once a second suffices.
    var indexIsCurrent: Bool { database == nil || files.indexIsAtPath }

    /// Handles a removed write-ahead log or index: copies the whole log into the database and
    /// reopens the files. Returns nil if the journal is at its path afterwards.
    ///
    /// If the database itself was moved or removed, this waits: the file may come back.
    func reopenIfReplaced() -> JournalFailure? {
        guard let database, !filesAreCurrent || !indexIsCurrent else { return nil }
        guard files.databaseIsAtPath else {
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
            // Before the first write: a file of another program is not changed.
            try JournalSchema.prepare(database)
            guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                throw JournalFileFault.unusable("it can't be put into WAL mode")
            }
            // GRDB's own WAL set-up chooses NORMAL, which may lose acknowledged commits.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try database.integer("PRAGMA synchronous") == 2 else {
                throw JournalFileFault.unusable("synchronous = FULL is not in force")
            }
            // Debian's SQLite overwrites removed data by default, even whole free pages.
            try database.execute(sql: "PRAGMA secure_delete = FAST")
            // A log that had to grow is truncated again later.
            try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
            try database.execute(sql: "PRAGMA cache_size = -16384")
            checkpointer.watch(database)
        }
        return queue
    }

    /// Actions whose effects had not ended when the previous process did; actions with the most
    /// starts come first. If there are very many, only some are examined.
    func runningActions(limit: Int) -> [InterruptedWork] {
        var found: [InterruptedWork] = []
        // Used for the log only: the code that needs the file reports that it cannot be read.
        try? database?.inDatabase { database in
            try database.each(
                """
                SELECT sessions.id, sessions.reactor, some.action, some.begun
                FROM (SELECT session, action, begun FROM running
                    WHERE action > 0 AND due IS NULL LIMIT 10000) AS some
                JOIN sessions ON sessions.row = some.session
                WHERE sessions.id IS NOT NULL ORDER BY some.begun DESC LIMIT ?
                """, .integer(Int64(limit))
            ) { row in
                found.append(
                    InterruptedWork(
                        session: row.string(0), reactor: row.string(1), action: try row.number(2),
                        trace: .running(begun: Int(clamping: row.integer(3)))))
            }
        }
        return found
    }

    /// Returns false if the file stays open in this process.
    @discardableResult
    func close() -> Bool {
        checkpointer.stop()
        if isInDoubt, let database {
            // Closing would empty the log, from which any start can continue.
            _ = unsafe Unmanaged.passRetained(database)
            self.database = nil
            return false
        }
        return disconnect()
    }

    /// Closes the connection and its cache: a failed flush may have lost pages that it would not
    /// write again. The index of the tail stays for readers: it describes earlier commits. Returns
    /// false if it could not be closed; every acknowledged commit is on disk already.
    @discardableResult
    private func disconnect() -> Bool {
        defer { database = nil }
        do {
            try database?.close()
            return true
        } catch {
            return false
        }
    }

    // MARK: Writing

    /// Commits every part that continues the file, in one transaction.
    ///
    /// - Returns: for each batch the refused parts.
    func write(_ group: [Batch]) -> Result<[[SessionKey: CommitRefusal]], JournalFailure> {
        attempt { database in
            heads.shrink()
            var refusals: [[SessionKey: CommitRefusal]] = []
            var rows = RowWriter(
                database: database, heads: heads, maintenance: maintenance,
                nextTailSequence: nextTailSequence)
            try inWriteTransaction(of: database) {
                preallocator?.make(beyond: checkpointer.pages, database)
                for batch in group {
                    let refused = try heads.validate(batch, database)
                    try rows.write(refused.isEmpty ? batch : batch.removing(refused))
                    refusals.append(refused)
                }
                try rows.finish()
                maintenance.charge(for: rows.added.count, bytes: rows.bytes)
                maintenance.charge(forAhead: rows.bytesAhead)
                try maintenance.work(database)
            }
            nextTailSequence = rows.nextTailSequence
            tail.remove(rows.ahead)
            tail.append(rows.added)
            maintenance.committed()
            return refusals
        }
    }

    /// Records whether a failed transaction may be committed: only if COMMIT has failed.
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

    /// Copies the pages that concurrent checkpoints cannot copy: those written meanwhile.
    func finishCheckpoint() {
        guard checkpointer.wantsWriter, let database else { return }
        checkpointer.finish(on: database)
    }

    // MARK: Between groups

    /// Returns nil if a write reaches the disk, otherwise the failure.
    func probe() -> JournalFailure? {
        let result = attempt { database in
            try database.inTransaction(.immediate) {
                // The page of this value is written and flushed, changed or not.
                let version = try database.integer("PRAGMA user_version") ?? 0
                try database.execute(sql: "PRAGMA user_version = \(version)")
                return .commit
            }
        }
        guard case .failure(let failure) = result else {
            // This commit overwrites the failed one.
            isUnsettled = false
            return nil
        }
        return failure
    }

    /// Whether pages written by checkpoints may be lost: a flush of the database failed.
    var isInDoubt: Bool { checkpointer.isInDoubt }

    /// Copies the whole log into the database again; returns nil if that reached the disk.
    ///
    /// SQLite would not do it: it counts pages written before the failed flush as copied. Only a
    /// connection that opens the file while no other has it open starts the count again.
    ///
    /// A failed commit is overwritten first: a process that finds it in the log would apply it,
    /// although readers have seen the rollback.
    func bringInAnew(_ archive: FileArchive) -> JournalFailure? {
        if isUnsettled, let failure = probe() { return failure }
        do {
            // While another connection is open, the last one that can write does not empty the log;
            // and `anchor`, which closes last, cannot write.
            let anchor = try FileArchive.anchor(path)
            disconnect()
            checkpointer.rest()
            try archive.suspendReads()
            let emptied = Result {
                try anchor.close()
                try emptyLog()
            }
            // Reads resume in either case; if they cannot, the whole operation is repeated.
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
            // Fails while another process reads the file. Set before the first read: the
            // connection's index of the log is then private and built from the log.
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        let alone = try DatabaseQueue(path: path, configuration: configuration)
        _ = try alone.inDatabase { try $0.checkpoint(.truncate) }
        try alone.close()
    }

    /// One step of maintenance; returns whether there is more to do at once.
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
            if case .failure = result { disconnect() }
            return result
        } catch {
            disconnect()
            return .failure(JournalFailure(error, systemCode: 0))
        }
    }
}
