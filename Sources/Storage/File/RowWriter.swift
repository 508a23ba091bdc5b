internal import GRDB

/// Writes the rows of validated batches, inside a group's transaction.
struct RowWriter {
    let database: Database
    let heads: SessionHeads
    let maintenance: Maintenance
    var nextTailSequence: Int64
    /// The entries that the group adds to the tail; they are indexed after the commit.
    private(set) var added: [(row: Int64, entry: TailIndex.Entry)] = []
    private(set) var bytes = 0
    /// Sessions whose records skipped the tail.
    private(set) var ahead: Set<Int64> = []
    private(set) var bytesAhead = 0
    /// The pages to add, in order of their starts, and the page that each session continues.
    private var runs: [RecordPage] = []
    private var open: [Int64: Int] = [:]

    init(database: Database, heads: SessionHeads, maintenance: Maintenance, nextTailSequence: Int64)
    {
        self.database = database
        self.heads = heads
        self.maintenance = maintenance
        self.nextTailSequence = nextTailSequence
    }

    /// - Precondition: `heads` has validated this batch last; refused parts are removed.
    mutating func write(_ batch: Batch) throws {
        try write(batch.runs)
        // Data of a session that has been deleted is discarded.
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

    private mutating func write(_ added: [RecordBatch]) throws {
        for (run, row) in zip(added, heads.rows) {
            if let time = run.created { try create(run, row, at: time) }
            if let time = run.deleted { try delete(run, row, at: time) }
            if let index = open[row], runs[index].text.count < RecordPage.fullBytes {
                runs[index].append(run)
            } else {
                open[row] = runs.count
                runs.append(RecordPage(of: row))
                runs[runs.count - 1].append(run)
            }
        }
    }

    /// Adds the records of all written batches to the tail; a run that fills half a page is written
    /// directly to `records`, and only there.
    mutating func finish() throws {
        for run in runs {
            if try goesAhead(run) {
                try run.insertInRecords(database)
                bytesAhead += run.text.count
                continue
            }
            bytes += run.text.count
            try run.insert(inTail: nextTailSequence, database)
            let entry = TailIndex.Entry(
                sequence: nextTailSequence, number: run.last.number, version: run.version,
                part: run.last.part, count: UInt32(run.count))
            added.append((run.row, entry))
            nextTailSequence += 1
        }
    }

    /// Whether the run bypasses the tail. The session's rows there are moved first, if few.
    private mutating func goesAhead(_ run: RecordPage) throws -> Bool {
        guard !ahead.contains(run.row) else { return true }
        guard run.text.count >= RecordPage.aheadBytes,
            try maintenance.moveAhead(run.row, database)
        else { return false }
        ahead.insert(run.row)
        return true
    }

    private func create(_ run: RecordBatch, _ row: Int64, at time: Int64) throws {
        try database.run("DELETE FROM tombstones WHERE id = ?", .string(run.key.session))
        try database.run(
            """
            INSERT INTO sessions(row, id, reactor, generation, created, owner, input)
            VALUES(?, ?, ?, ?, ?, ?, ?)
            """, .integer(row), .string(run.key.session), .string(run.reactor),
            .string(run.key.generation), .integer(time),
            run.creation.owner.map { .string($0.text) } ?? .null,
            run.creation.input.map { .text($0) } ?? .null)
    }

    /// Keeps the row, without its id, until the session's records are removed.
    private func delete(_ run: RecordBatch, _ row: Int64, at time: Int64) throws {
        try database.run("UPDATE sessions SET id = NULL WHERE row = ?", .integer(row))
        try database.run(
            "INSERT INTO tombstones(id, reactor, generation, deleted) VALUES(?, ?, ?, ?)",
            .string(run.key.session), .string(run.reactor), .string(run.key.generation),
            .integer(time))
        maintenance.recordEnd(of: row)
    }

    private func write(_ snapshot: Snapshot) throws {
        let bytes = heads.addSnapshot(snapshot.state.count, of: snapshot.session)
        try database.run(
            """
            INSERT OR REPLACE INTO snapshots(session, version, number, last_action,
                state_version, time, state, bytes, listens) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(heads.row(of: snapshot.session)), .number(snapshot.version),
            .number(snapshot.number), .number(snapshot.lastAction),
            .integer(Int64(snapshot.stateVersion)), .integer(snapshot.time),
            .text(snapshot.state), .integer(Int64(bytes)), .integer(snapshot.listens ? 1 : 0))
    }

    private func write(_ answer: StoredAnswer) throws {
        try database.run(
            """
            INSERT OR REPLACE INTO answers(session, key, digest, status, time, body)
            VALUES(?, ?, ?, ?, ?, ?)
            """, .integer(heads.row(of: answer.session)), .string(answer.key),
            .blob(answer.bodyDigest),
            .integer(Int64(answer.status)), .integer(answer.time), .text(answer.body))
    }

    private func writeRunning(_ batch: Batch) throws {
        for action in batch.started where isLiving(action.session, action.generation) {
            try database.run(
                """
                INSERT OR REPLACE INTO running(session, action, content, begun, subject, attempt,
                    due, step) VALUES(?, ?, ?, ?, ?, ?, \(JournalSchema.now) + ?, ?)
                """, .integer(heads.row(of: action.session)), .number(action.action),
                .text(action.content), .integer(Int64(action.begun)),
                action.subject.map(BoundValue.string) ?? .null, .integer(Int64(action.attempt)),
                action.wait.map(BoundValue.integer) ?? .null,
                action.step.map(BoundValue.string) ?? .null)
        }
        for action in batch.settled where isLiving(action.session, action.generation) {
            try database.run(
                "DELETE FROM running WHERE session = ? AND action = ?",
                .integer(heads.row(of: action.session)), .number(action.action))
        }
        for change in batch.timers where isLiving(change.session, change.generation) {
            try write(change)
        }
        for change in batch.tags where isLiving(change.session, change.generation) {
            try change.tags.replace(
                ofRow: heads.row(of: change.session), change.reactor, database)
        }
    }

    private func write(_ change: TimerChange) throws {
        let row = BoundValue.integer(heads.row(of: change.session))
        guard let timer = change.timer else {
            return try database.run(
                "DELETE FROM timers WHERE session = ? AND name = ?", row,
                .string(change.name.text))
        }
        try database.run(
            """
            INSERT INTO timers(session, name, number, due, content, begun)
            VALUES(?, ?, ?, ?, ?, ?)
            ON CONFLICT(session, name) DO UPDATE SET number = excluded.number,
                content = excluded.content, begun = excluded.begun,
                due = max(excluded.due, iif(name = '', due, excluded.due))
            """, row, .string(timer.name.text), .number(timer.number), .integer(timer.due),
            .text(timer.content), .integer(Int64(timer.begun)))
    }
}
