internal import GRDB

/// Writes the rows of batches that were let in, inside a group's transaction.
struct RowWriter {
    let database: Database
    let heads: SessionHeads
    /// The tail's next place.
    var nextPlace: Int64
    /// What the group adds to the tail: indexed once it is committed.
    var added: [(row: Int64, entry: TailIndex.Entry)] = []
    /// About the bytes of that.
    var bytes = 0

    init(database: Database, heads: SessionHeads, nextPlace: Int64) {
        self.database = database
        self.heads = heads
        self.nextPlace = nextPlace
    }

    /// - Precondition: `heads` has let the batch in, and no other one since.
    mutating func write(_ batch: Batch) throws {
        try write(batch.records)
        // What concerns a session that is deleted by now goes with it.
        for snapshot in batch.snapshots where isLiving(snapshot.session, snapshot.generation) {
            try write(snapshot)
        }
        for answer in batch.answers where isLiving(answer.session, answer.generation) {
            try write(answer)
        }
        try writeRunning(batch)
    }

    private func isLiving(_ session: String, _ generation: String) -> Bool {
        heads.isLiving(session, generation)
    }

    private mutating func write(_ records: [Record]) throws {
        guard !records.isEmpty else { return }
        let insert = try database.cachedStatement(
            sql: """
                INSERT INTO tail(place, session, number, part, kind, version, action, time,
                    content, events, traceparent) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for (record, row) in zip(records, heads.rows) {
            if record.kind == .created { try create(record, row) }
            if record.kind == .deleted { try delete(record, row) }
            try insert.run(
                .integer(nextPlace), .integer(row), .number(record.number),
                .integer(record.part == 0 ? JournalSchema.recordPart : Int64(record.part)),
                .integer(Int64(record.kind.rawValue)), .number(record.version),
                .number(record.action), .integer(record.time), .text(record.content),
                record.events.isEmpty ? .null : .text(EventLines.text(record.events)),
                record.traceparent.map { .string($0) } ?? .null)
            let entry = TailIndex.Entry(
                place: nextPlace, number: record.number, version: record.version,
                part: record.part)
            added.append((row, entry))
            nextPlace += 1
            bytes += record.storedBytes
        }
    }

    private func create(_ record: Record, _ row: Int64) throws {
        try database.cachedStatement(sql: "DELETE FROM tombstones WHERE id = ?")
            .run(.string(record.session))
        try database.cachedStatement(
            sql: "INSERT INTO sessions(row, id, reactor, generation, created) VALUES(?, ?, ?, ?, ?)"
        ).run(
            .integer(row), .string(record.session), .string(record.reactor),
            .string(record.generation), .integer(record.time))
    }

    /// The row stays, without the id, until the session's records are removed.
    private func delete(_ record: Record, _ row: Int64) throws {
        try database.cachedStatement(sql: "UPDATE sessions SET id = NULL WHERE row = ?")
            .run(.integer(row))
        try database.cachedStatement(
            sql: "INSERT INTO tombstones(id, reactor, generation, deleted) VALUES(?, ?, ?, ?)"
        ).run(
            .string(record.session), .string(record.reactor), .string(record.generation),
            .integer(record.time))
    }

    private func write(_ snapshot: Snapshot) throws {
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO snapshots(session, version, number, last_action,
                    state_version, time, state) VALUES(?, ?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(heads.row(of: snapshot.session)), .number(snapshot.version),
            .number(snapshot.number), .number(snapshot.lastAction),
            .integer(Int64(snapshot.stateVersion)), .integer(snapshot.time),
            .text(snapshot.state))
    }

    private func write(_ answer: StoredAnswer) throws {
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO answers(session, key, digest, status, time, body)
                VALUES(?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(heads.row(of: answer.session)), .string(answer.key), .blob(answer.bodyDigest),
            .integer(Int64(answer.status)), .integer(answer.time), .text(answer.body))
    }

    private func writeRunning(_ batch: Batch) throws {
        for action in batch.started where isLiving(action.session, action.generation) {
            try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO running(session, action, content) VALUES(?, ?, ?)"
            ).run(
                .integer(heads.row(of: action.session)), .number(action.action),
                .text(action.content))
        }
        for action in batch.settled where isLiving(action.session, action.generation) {
            try database.cachedStatement(
                sql: "DELETE FROM running WHERE session = ? AND action = ?"
            ).run(.integer(heads.row(of: action.session)), .number(action.action))
        }
    }
}
