internal import GRDB

extension SavedHead {
    init(_ stored: FileSessionRow, waiting: TailIndex.Entry?, in database: Database) throws {
        self = stored.head
        end = try HistoryEnd(of: stored.row, waiting, database)
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
        self.init(try SavedHead(stored, waiting: waiting.last, in: database))
        let reader = RecordReader(database: database, stored: stored, waiting: waiting)
        try load(
            Snapshot.read(of: stored, at: UInt64(Int64.max), from: database),
            running: RunningAction.all(of: stored, from: database)
        ) { start, show in
            try reader.each(after: start, through: .max) { record in
                show(record)
                return true
            }
        }
        head.creation.input = try stored.input(database)
        timers = try SessionTimer.all(of: stored, from: database)
        head.tags = try SessionTags(ofRow: stored.row, database)
        hasStoredAnswers =
            try database.integer(
                "SELECT 1 FROM answers WHERE session = ? LIMIT 1", .integer(stored.row)) != nil
    }
}
