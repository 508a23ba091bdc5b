internal import GRDB

/// Writes the rows of batches that were let in, inside a group's transaction.
struct RowWriter {
    let database: Database
    let heads: SessionHeads
    /// The tail's next place.
    var nextPlace: Int64
    /// What the group adds to the tail: indexed once it is committed.
    private(set) var added: [(row: Int64, entry: TailIndex.Entry)] = []
    /// The bytes of that.
    private(set) var bytes = 0
    /// What is to be added, in the order in which it was begun, and which of it each session's
    /// next record continues.
    private var runs: [RecordRun] = []
    private var open: [Int64: Int] = [:]

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
        var last = (row: Int64(0), index: 0)
        for (record, row) in zip(records, heads.rows) {
            if record.kind == .created { try create(record, row) }
            if record.kind == .deleted { try delete(record, row) }
            // A session's records mostly come together.
            if row != last.row || runs[last.index].text.count >= RecordRun.writtenBytes {
                last = (row, run(of: row))
            }
            runs[last.index].append(record)
        }
    }

    /// The run that the session's next record belongs to.
    private mutating func run(of row: Int64) -> Int {
        if let index = open[row], runs[index].text.count < RecordRun.writtenBytes { return index }
        open[row] = runs.count
        runs.append(RecordRun(of: row))
        return runs.count - 1
    }

    /// Every batch was written: adds the records of all of them to the tail.
    mutating func finish() throws {
        for run in runs {
            try run.insert(inTail: nextPlace, database)
            let entry = TailIndex.Entry(
                place: nextPlace, number: run.last.number, version: run.version,
                part: run.last.part, count: UInt32(run.count))
            added.append((run.row, entry))
            nextPlace += 1
            bytes += run.text.count
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
