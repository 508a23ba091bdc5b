internal import GRDB

/// Writes the rows of batches that have been checked, inside a transaction.
struct RowWriter {
    let database: Database

    /// - Parameter heads: has every session of the batch; a session that is created gets its row.
    func write(_ batch: Batch, _ heads: inout [String: SessionHeads.Head]) throws {
        let insert = try database.cachedStatement(
            sql: """
                INSERT INTO records(session, number, part, kind, version, action, time, content,
                    events, traceparent) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for record in batch.records {
            if record.kind == .created { try create(record, &heads) }
            if record.kind == .deleted { try delete(record, heads) }
            try insert.run(
                .integer(row(record.session, heads)), .number(record.number),
                .integer(record.part == 0 ? JournalSchema.recordPart : Int64(record.part)),
                .integer(Int64(record.kind.rawValue)), .number(record.version),
                .number(record.action), .integer(record.time), .text(record.content),
                record.events.isEmpty ? .null : .text(EventLines.text(record.events)),
                record.traceparent.map { .string($0) } ?? .null)
        }
        for snapshot in batch.snapshots { try write(snapshot, heads) }
        for answer in batch.answers { try write(answer, heads) }
        try writeRunning(batch, heads)
    }

    private func row(_ session: String, _ heads: [String: SessionHeads.Head]) -> Int64 {
        guard let head = heads[session] else { preconditionFailure("a batch that was not checked") }
        return head.row
    }

    /// An older life of the id keeps its row, without the id, until its records are removed.
    private func create(_ record: Record, _ heads: inout [String: SessionHeads.Head]) throws {
        try database.cachedStatement(sql: "UPDATE sessions SET id = NULL WHERE id = ?")
            .run(.string(record.session))
        try database.cachedStatement(
            sql: "INSERT INTO sessions(id, reactor, generation, created) VALUES(?, ?, ?, ?)"
        ).run(
            .string(record.session), .string(record.reactor), .string(record.generation),
            .integer(record.time))
        heads[record.session]?.row = database.lastInsertedRowID
    }

    private func delete(_ record: Record, _ heads: [String: SessionHeads.Head]) throws {
        try database.cachedStatement(sql: "UPDATE sessions SET deleted = ? WHERE row = ?")
            .run(.integer(record.time), .integer(row(record.session, heads)))
    }

    private func write(_ snapshot: Snapshot, _ heads: [String: SessionHeads.Head]) throws {
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO snapshots(session, version, number, last_action,
                    state_version, time, state) VALUES(?, ?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(row(snapshot.session, heads)), .number(snapshot.version),
            .number(snapshot.number), .number(snapshot.lastAction),
            .integer(Int64(snapshot.stateVersion)), .integer(snapshot.time),
            .text(snapshot.state))
    }

    private func write(_ answer: StoredAnswer, _ heads: [String: SessionHeads.Head]) throws {
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO answers(session, key, digest, status, time, body)
                VALUES(?, ?, ?, ?, ?, ?)
                """
        ).run(
            .integer(row(answer.session, heads)), .string(answer.key), .blob(answer.bodyDigest),
            .integer(Int64(answer.status)), .integer(answer.time), .text(answer.body))
    }

    private func writeRunning(_ batch: Batch, _ heads: [String: SessionHeads.Head]) throws {
        for action in batch.started {
            try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO running(session, action, content) VALUES(?, ?, ?)"
            ).run(
                .integer(row(action.session, heads)), .number(action.action),
                .text(action.content))
        }
        for action in batch.settled {
            try database.cachedStatement(
                sql: "DELETE FROM running WHERE session = ? AND action = ?"
            ).run(.integer(row(action.session, heads)), .number(action.action))
        }
    }
}
