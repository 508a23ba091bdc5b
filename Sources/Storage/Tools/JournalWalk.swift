internal import GRDB

/// Visits a journal's file session by session, ordered by id.
struct JournalWalk {
    let database: Database
    private let tail = TailIndex()

    init(_ database: Database) throws {
        self.database = database
        try tail.rebuild(database)
    }

    struct Session {
        let stored: FileSessionRow
        let created: Int64
        let head: SavedHead
        fileprivate let reader: RecordReader
    }

    func eachSession(_ act: (Session) throws -> Void) throws {
        try database.each("SELECT id, created FROM sessions WHERE id IS NOT NULL ORDER BY id") {
            row in
            guard let stored = try FileSessionRow(row.string(0), in: database) else { return }
            let waiting = tail.entries(of: stored.row, from: 0, through: .max, limit: .max)
            try act(
                Session(
                    stored: stored, created: row.integer(1),
                    head: SavedHead(stored, waiting: waiting.last, in: database),
                    reader: RecordReader(database: database, stored: stored, waiting: waiting)))
        }
    }

    /// Passes all kept records and notes of a session, in order; including the creation, if it is
    /// kept. The newest record is always kept: it is the session's head.
    func eachRecord(of session: Session, _ act: (HistoryEntry) throws -> Void) throws {
        let first = min(session.stored.keptAfter + 1, session.head.end.number)
        // No note or record precedes the creation, record 0.
        let start =
            session.stored.keptAfter > 0 ? HistoryPosition(first - 1) : HistoryPosition.beginning
        try session.reader.each(after: start, through: .max) { record in
            try act(record)
            return true
        }
    }

    /// Differences between the columns of a row of records and the records in it.
    func rowProblems(of session: Session) throws -> [String] {
        var problems: [String] = []
        try database.each(
            """
            SELECT number, part, version, count, lines FROM records
            WHERE session = ? ORDER BY number, part
            """, .integer(session.stored.row)
        ) { row in
            var run = RecordPage(of: session.stored.row)
            do {
                _ = try HistoryCodec.decode(
                    row.bytes(4), of: session.stored.key, session.stored.reactor
                ) { record in
                    run.append(record)
                    return true
                }
            } catch is HistoryCodec.Damage {
                return  // the reader of the records reports it
            }
            let place = try HistoryPosition(column: row.number(0), part: row.integer(1))
            if run.last != place || Int64(clamping: run.version) != row.integer(2)
                || run.count != row.integer(3)
            {
                problems.append("the row of record \(place.number) does not match its content")
            }
        }
        return problems
    }

    func eachSnapshot(of stored: FileSessionRow, _ act: (Snapshot) throws -> Void) throws {
        try database.each(
            """
            SELECT number, version, last_action, state_version, time, state, listens
            FROM snapshots WHERE session = ? ORDER BY version, number
            """, .integer(stored.row)
        ) { try act(Snapshot($0, of: stored.key)) }
    }

    func eachAnswer(of stored: FileSessionRow, _ act: (StoredAnswer) throws -> Void) throws {
        try database.each(
            """
            SELECT key, digest, status, time, body FROM answers WHERE session = ? ORDER BY key
            """, .integer(stored.row)
        ) { try act(StoredAnswer($0, of: stored.key)) }
    }

    /// - Parameter act: Also gets the time of the deletion.
    func eachTombstone(_ act: (SavedHead, Int64) throws -> Void) throws {
        try database.each("SELECT id, reactor, generation, deleted FROM tombstones ORDER BY place")
        { row in
            let key = SessionKey(session: row.string(0), generation: row.string(2))
            try act(
                SavedHead(key: key, reactor: row.string(1), isDeleted: true), row.integer(3))
        }
    }
}

extension HistoryPosition {
    /// The position before the creation: no note precedes record 0.
    static let beginning = HistoryPosition(0, part: .max - 1)
}
