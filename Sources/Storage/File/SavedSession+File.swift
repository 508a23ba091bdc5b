internal import GRDB

extension SavedHead {
    /// - Parameter waiting: The session's newest entry in the tail.
    init(_ life: Life, waiting: TailIndex.Entry?, in database: Database) throws {
        self.init(key: life.key, reactor: life.reactor)
        owner = life.owner
        end = try HistoryEnd(of: life.row, waiting, database)
        keptAfter = life.keptAfter
        keptVersion = life.keptVersion
    }

    /// - Parameter deleted: The tombstone of a session.
    init(of deleted: SavedSession) {
        self.init(key: deleted.key, reactor: deleted.reactor, isDeleted: true)
    }
}

extension SavedSession {
    /// A deleted session, if it is still remembered.
    static func deleted(_ session: String, in database: Database) throws -> SavedSession? {
        let rows = try database.cachedStatement(
            sql: "SELECT reactor, generation FROM tombstones WHERE id = ?")
        return try rows.first(.string(session)) { row in
            SavedSession(
                key: SessionKey(session: session, generation: row.string(1)),
                reactor: row.string(0), isDeleted: true)
        }
    }

    /// - Parameter waiting: All entries of the session in the tail.
    init(_ life: Life, waiting: [TailIndex.Entry], in database: Database) throws {
        self.init(key: life.key, reactor: life.reactor)
        owner = life.owner
        end = try HistoryEnd(of: life.row, waiting.last, database)
        keptAfter = life.keptAfter
        keptVersion = life.keptVersion
        snapshot = try .read(of: life, at: UInt64(Int64.max), from: database)
        try readMutations(RecordReader(database: database, life: life, waiting: waiting))
        try readRunning(life.row, database)
        hasStoredAnswers =
            try database.integer(
                "SELECT 1 FROM answers WHERE session = ? LIMIT 1", .integer(life.row)) != nil
    }

    private mutating func readMutations(_ records: RecordReader) throws {
        var newest = snapshot?.lastAction ?? 0
        var found: [HistoryEntry] = []
        let start = HistoryPosition(max(snapshot?.number ?? 0, keptAfter))
        try records.each(after: start, through: .max) { record in
            newest = max(newest, record.action)
            guard record.kind == .mutation else { return true }
            found.append(record)
            found[found.count - 1].events = []
            return true
        }
        lastAction = newest
        mutations = found
    }

    private mutating func readRunning(_ row: Int64, _ database: Database) throws {
        let key = key
        var found: [RunningAction] = []
        try database.cachedStatement(
            sql:
                "SELECT action, content, begun, subject FROM running WHERE session = ? ORDER BY action"
        ).each(.integer(row)) { row in
            found.append(
                RunningAction(
                    session: key.session, generation: key.generation, action: try row.number(0),
                    content: row.bytes(1), subject: row.optionalString(3),
                    begun: Int(clamping: row.integer(2))))
            return true
        }
        running = found
        lastAction = max(lastAction, found.last?.action ?? 0)
    }
}
