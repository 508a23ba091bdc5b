internal import GRDB
internal import Synchronization

/// The one connection that writes.
///
/// Why unchecked: everything but `init` and `open` in the journal's `init` is called on the
/// journal's queue alone, which is what makes it the one writer.
final class JournalWriter: @unchecked Sendable {
    let path: String
    let retention: JournalRetention
    var database: DatabaseQueue?
    var heads = SessionHeads()
    private let checkpointer: Checkpointer
    /// Where the background look at all sessions goes on.
    var nextLook: Int64 = 0

    init(path: String, retention: JournalRetention) {
        self.path = path
        self.retention = retention
        checkpointer = Checkpointer(path: path)
    }

    // MARK: The file

    func open() throws(JournalFileFault) {
        do {
            database = try connect()
        } catch let fault as JournalFileFault {
            throw fault
        } catch {
            throw .unusable(String(describing: error))
        }
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
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2 else {
                throw JournalFileFault.unusable("synchronous = FULL is not in force")
            }
            checkpointer.watch(database)
        }
        return queue
    }

    func close() {
        checkpointer.stop()
        do {
            try database?.close()
        } catch {
            // Every commit is on disk already; the next start replays the WAL.
        }
        database = nil
    }

    /// After a failure nothing that the connection believes is believed: a flush that failed may
    /// have lost pages that it would not write again.
    private func throwAway() {
        heads.removeAll()
        do {
            try database?.close()
        } catch {
            // It is gone either way.
        }
        database = nil
    }

    // MARK: Writing

    /// Commits every batch that continues what the file has, in one transaction; answers for each
    /// why it does not, if it does not.
    func write(_ group: [Batch]) -> Result<[JournalFailure?], JournalFailure> {
        do {
            if database == nil { try open() }
            guard let database else { throw JournalFileFault.unusable("it is closed") }
            return .success(try database.inDatabase { try write(group, in: $0) })
        } catch {
            throwAway()
            return .failure(JournalFailure(error))
        }
    }

    private func write(_ group: [Batch], in database: Database) throws -> [JournalFailure?] {
        var refusals: [JournalFailure?] = []
        var isEmpty = true
        var changed: [String: SessionHeads.Head] = [:]
        try database.inTransaction(.immediate) {
            for batch in group {
                guard !batch.isEmpty else {
                    refusals.append(nil)
                    continue
                }
                var check = BatchCheck(known: heads, changed: changed)
                let refusal = try check.refusal(of: batch, in: database)
                refusals.append(refusal)
                guard refusal == nil else { continue }
                isEmpty = false
                changed = check.changed
                try RowWriter(database: database).write(batch, &changed)
            }
            return isEmpty ? .rollback : .commit
        }
        for (session, head) in changed { heads[session] = head }
        return refusals
    }

    /// Whether a write reaches the disk; nil if it does.
    func probe() -> JournalFailure? {
        do {
            if database == nil { try open() }
            try database?.inDatabase { database in
                try database.inTransaction(.immediate) {
                    // The page that holds it is written and flushed.
                    let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                    try database.execute(sql: "PRAGMA user_version = \(version)")
                    return .commit
                }
            }
            return nil
        } catch {
            throwAway()
            return JournalFailure(error)
        }
    }

    /// Runs a step of housekeeping.
    func attempt(_ act: (Database) throws -> Void) -> JournalFailure? {
        guard let database else { return nil }
        do {
            try database.inDatabase(act)
            return nil
        } catch {
            throwAway()
            return JournalFailure(error)
        }
    }
}

extension JournalFailure {
    init(_ error: any Error) {
        guard let error = error as? DatabaseError else {
            let fault = error as? JournalFileFault
            self.init(
                reason: .unavailable, detail: fault.map { $0.sentence("the file") } ?? "\(error)")
            return
        }
        let isFull = error.resultCode == .SQLITE_FULL
        self.init(
            reason: isFull ? .full : .unavailable,
            detail: isFull
                ? "no space is left for the journal"
                : "the journal's file: \(error.message ?? "error") "
                    + "(SQLite \(error.extendedResultCode.rawValue))")
    }
}
