internal import Dispatch
internal import GRDB
internal import Synchronization

/// The reading side of a journal's file, concurrent with the writer: WAL readers see committed
/// data, and neither side waits for the other.
final class FileArchive: Archive {
    private enum State {
        case open(DatabasePool)
        case suspended
        case closed
    }

    private let path: String
    private let state: Mutex<State>
    private let tail: TailIndex

    /// More would compete with the loops for processors, and most reads find their pages in memory.
    private static let connections = 2

    init(path: String, tail: TailIndex) throws(JournalFileFault) {
        self.path = path
        self.tail = tail
        do {
            state = Mutex(.open(try Self.connect(path)))
        } catch {
            throw JournalFileFault(error)
        }
    }

    private static func connect(_ path: String) throws -> DatabasePool {
        var configuration = reading("journal.archive")
        configuration.maximumReaderCount = connections
        configuration.prepareDatabase { database in
            // Most pages are read once: a page is cached only for the rows on it.
            try database.execute(sql: "PRAGMA cache_size = -512")
        }
        return try DatabasePool(path: path, configuration: configuration)
    }

    /// A read-only connection that has already read from the file.
    static func anchor(_ path: String) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: path, configuration: reading("journal.anchor"))
        _ = try queue.inDatabase { try $0.integer("SELECT max(row) FROM sessions") }
        return queue
    }

    private static func reading(_ label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.readonly = true
        configuration.busyMode = .timeout(2)
        return configuration
    }

    /// Returns false if a read is in progress: the file stays as it is, and any start can read it.
    func close() -> Bool {
        do {
            try become(.closed)?.close()
            return true
        } catch {
            return false
        }
    }

    func suspendReads() throws {
        try become(.suspended)?.close()
    }

    /// Undoes ``suspendReads()``.
    func resumeReads() throws {
        let fresh = try Self.connect(path)
        state.withLock { state in
            if case .suspended = state { state = .open(fresh) }
        }
    }

    /// Returns the pool that was open. The caller closes it, because closing may wait for a disk,
    /// and concurrent reads, perhaps from an event loop, must not.
    private func become(_ next: State) -> DatabasePool? {
        state.withLock { state in
            guard case .open(let pool) = state else {
                if case .closed = state { return nil }
                state = next
                return nil
            }
            state = next
            return pool
        }
    }

    /// Why `use` is called under the lock: a pool must not be closed while a call of it begins. The
    /// call must not wait for a disk.
    private func withPool<Value>(_ use: (DatabasePool) throws -> Value) throws -> Value {
        try state.withLock { state in
            switch state {
            case .open(let pool): return try use(pool)
            case .suspended: throw JournalFileFault.unusable("it is being repaired")
            case .closed: throw JournalFileFault.unusable("it is closed")
            }
        }
    }

    func head(of session: String, _ answer: @escaping Answer<SavedHead?>) {
        read(answer) { [tail] database in
            guard let stored = try FileSessionRow(session, in: database) else {
                return try SavedSession.deleted(session, in: database)?.head
            }
            let waiting = tail.newest(of: stored.row)
            return try database.inOneView {
                guard let now = try FileSessionRow(session, in: database) else {
                    return try SavedSession.deleted(session, in: database)?.head
                }
                return try SavedHead(
                    now, waiting: now.row == stored.row ? waiting : nil, in: database)
            }
        }
    }

    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        read(answer) { [tail] database in
            guard let stored = try FileSessionRow(session, in: database) else {
                return try .deleted(session, in: database)
            }
            let waiting = tail.entries(of: stored.row, after: HistoryPosition(0))
            return try database.inOneView {
                // By now it may have another generation, without the waiting rows.
                guard let now = try FileSessionRow(session, in: database) else {
                    return try .deleted(session, in: database)
                }
                return try SavedSession(
                    now, waiting: now.row == stored.row ? waiting : [], in: database)
            }
        }
    }

    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        read(answer) { [tail] database in
            guard let stored = try FileSessionRow(session, in: database) else { return [] }
            // Records that are being trimmed are hidden before the last of their rows is removed.
            let start = max(start, HistoryPosition(stored.keptAfter))
            let waiting = tail.entries(
                of: stored.row, after: start, through: last,
                limit: min(limit, max(0, limitBytes) / HistoryEntry.leastStoredBytes + 1))
            return try database.inOneView {
                var found: [HistoryEntry] = []
                var bytes = 0
                let reader = RecordReader(database: database, stored: stored, waiting: waiting)
                try reader.each(after: start, through: last) { record in
                    bytes += record.storedBytes
                    guard found.isEmpty || bytes <= limitBytes else { return false }
                    found.append(record)
                    return found.count < limit
                }
                return found
            }
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        read(answer) { database in
            guard let stored = try FileSessionRow(session, in: database) else { return nil }
            return try Snapshot.read(of: stored, at: version, from: database)
        }
    }

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        read(answer) { database in
            guard let stored = try FileSessionRow(session, in: database) else { return nil }
            return try database.first(Self.answerQuery, .integer(stored.row), .string(key)) {
                let answer = StoredAnswer($0, of: session)
                guard StoredAnswer.statuses.contains(answer.status) else {
                    throw JournalFileFault.unusable(
                        "a stored answer has the invalid status \(answer.status)")
                }
                return answer
            }
        }
    }

    func page(_ range: SessionRange, _ answer: @escaping Answer<[SavedHead]>) {
        read(answer) { [tail] database in
            var found: [FileSessionRow] = []
            try database.each(
                Self.pageQuery(ofReactor: range.reactor != nil), .string(range.lowerBound),
                .string(range.upperBound), .string(range.after ?? ""),
                range.reactor.map { .string($0) } ?? .null, .integer(Int64(range.limit))
            ) { found.append(FileSessionRow(ofPage: $0)) }
            let waiting = found.map { tail.newest(of: $0.row) }
            return try database.inOneView {
                try zip(found, waiting).map { stored, waiting in
                    var head = try SavedHead(stored, waiting: waiting, in: database)
                    head.tags = try SessionTags(ofRow: stored.row, database)
                    return head
                }
            }
        }
    }

    static let answerQuery =
        "SELECT key, digest, status, time, body FROM answers WHERE session = ? AND key = ?"

    static func pageQuery(ofReactor: Bool) -> String {
        """
        SELECT \(FileSessionRow.pageColumns) FROM sessions
        WHERE id >= ?1 AND id < ?2 AND id <> ?3 AND \(ofReactor ? "reactor = ?4" : "?4 IS NULL")
        ORDER BY id LIMIT ?5
        """
    }

    /// The number of sessions by their owners.
    func ownedSessions() throws(JournalFailure) -> [ExactText: Int] {
        do {
            return try withPool { $0 }.read { database in
                var counts: [ExactText: Int] = [:]
                try database.each(
                    """
                    SELECT owner, count(*) FROM sessions
                    WHERE id IS NOT NULL AND owner IS NOT NULL GROUP BY owner
                    """
                ) { row in
                    counts[ExactText(row.string(0))] = Int(clamping: row.integer(1))
                }
                return counts
            }
        } catch {
            throw JournalFailure(error, systemCode: 0)
        }
    }

    func readTail<Value: Sendable>(
        _ answer: @escaping Answer<Value>,
        _ find: @escaping @Sendable (Database, TailIndex) throws -> Value
    ) {
        read(answer) { [tail] in try find($0, tail) }
    }

    func read<Value: Sendable>(
        _ answer: @escaping Answer<Value>,
        _ find: @escaping @Sendable (Database) throws -> Value
    ) {
        do {
            // Not `asyncRead`: it starts its transaction before the tail's index can be read.
            try withPool { pool in
                pool.asyncUnsafeRead { result in
                    answer(
                        result.flatMap { database in
                            do {
                                return .success(try find(database))
                            } catch {
                                return .failure(error)
                            }
                        }.mapError { JournalFailure($0, systemCode: 0) })
                }
            }
        } catch {
            let failure = JournalFailure(error, systemCode: 0)
            // Invariant: never from inside the call.
            DispatchQueue.global().async { answer(.failure(failure)) }
        }
    }
}

extension Database {
    func inOneView<Value>(_ read: () throws -> Value) throws -> Value {
        var found: Value?
        try inTransaction(.deferred) {
            found = try read()
            return .commit
        }
        guard let found else { preconditionFailure("a transaction that did not run") }
        return found
    }
}
