internal import GRDB

extension SavedHead {
    init(_ stored: FileSessionRow, waiting: TailIndex.Entry?, in database: Database) throws {
        self.init(key: stored.key, reactor: stored.reactor)
        owner = stored.owner
        end = try HistoryEnd(of: stored.row, waiting, database)
        keptAfter = stored.keptAfter
        keptVersion = stored.keptVersion
    }

    init(of deleted: SavedSession) {
        self.init(key: deleted.key, reactor: deleted.reactor, isDeleted: true)
    }
}

extension SavedSession {
    /// A deleted session, if it is still remembered.
    static func deleted(_ session: String, in database: Database) throws -> SavedSession? {
        return try database.first(
            "SELECT reactor, generation FROM tombstones WHERE id = ?", .string(session)
        ) { row in
            SavedSession(
                key: SessionKey(session: session, generation: row.string(1)),
                reactor: row.string(0), isDeleted: true)
        }
    }

    init(_ stored: FileSessionRow, waiting: [TailIndex.Entry], in database: Database) throws {
        self.init(key: stored.key, reactor: stored.reactor)
        owner = stored.owner
        end = try HistoryEnd(of: stored.row, waiting.last, database)
        keptAfter = stored.keptAfter
        keptVersion = stored.keptVersion
        snapshot = try .read(of: stored, at: UInt64(Int64.max), from: database)
        try readMutations(RecordReader(database: database, stored: stored, waiting: waiting))
        running = try RunningAction.all(of: stored, from: database)
        lastAction = max(lastAction, running.last?.action ?? 0)
        hasStoredAnswers =
            try database.integer(
                "SELECT 1 FROM answers WHERE session = ? LIMIT 1", .integer(stored.row)) != nil
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
}
