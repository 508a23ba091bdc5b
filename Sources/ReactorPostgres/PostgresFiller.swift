package import Storage

package final class PostgresFiller: JournalVisitor {
    private let connection: Connection
    private let schema: String
    private var session: SavedHead?
    /// The number of the session's row.
    private var row: Int64 = 0
    /// The session's records that are not written yet.
    private var run: RecordBatch?
    /// Where the next run begins.
    private var place = Schema.beginning
    private var rows = Rows()

    /// Rows that wait to be sent together.
    private struct Rows {
        var sessions: [(row: Int64, head: SavedHead, created: Int64, deleted: Int64?)] = []
        var runs: [(row: Int64, place: (number: Int64, part: Int64), run: RecordBatch)] = []
        var snapshots: [(row: Int64, snapshot: Snapshot)] = []
        var answers: [(row: Int64, answer: StoredAnswer)] = []
        var actions: [(row: Int64, action: RunningAction)] = []
        var timers: [(row: Int64, timer: SessionTimer)] = []
        var tags: [(row: Int64, tag: SessionTag, changed: Int64)] = []
        var bytes = 0
    }

    private static let fullBytes = 4_194_304
    private static let limit = Duration.seconds(600)

    /// Makes the tables if they are missing, and begins.
    ///
    /// - Throws: ``JournalFailure``: also if there is a session.
    package init(_ address: PostgresAddress) throws(JournalFailure) {
        schema = address.schema
        do throws(PostgresFault) {
            try PostgresJournal.prepare(address)
            connection = try Connector(address).open()
            try connection.execute(
                """
                SET client_encoding = 'UTF8'; SET client_min_messages = warning;
                SET search_path = \(schema); BEGIN;
                LOCK TABLE sessions IN SHARE ROW EXCLUSIVE MODE
                """, within: Self.limit)
            let isEmpty = try connection.run(
                "SELECT NOT EXISTS (SELECT 1 FROM sessions)", within: Self.limit
            ).bool(0, 0)
            guard isEmpty else {
                throw PostgresFault(
                    message: "the schema \(schema) has sessions, and is left as it is",
                    isBroken: false)
            }
        } catch {
            throw JournalFailure(error)
        }
    }

    /// Commits.
    package func finish() throws {
        try endRun()
        try send()
        do throws(PostgresFault) {
            try connection.execute(
                """
                SELECT setval(pg_get_serial_sequence('sessions', 'session'), \(row + 1), false);
                COMMIT
                """, within: Self.limit)
            try connection.refuseWarnings()
            // Without statistics the first statements are planned for small tables.
            try connection.execute("ANALYZE", within: Self.limit)
        } catch {
            throw JournalFailure(error)
        }
    }

    // MARK: Visits

    package func visit(_ session: SavedHead, created: Int64) throws {
        try endRun()
        row += 1
        self.session = session
        place = Schema.beginning
        rows.sessions.append((row, session, created, nil))
        rows.bytes += session.creation.input?.count ?? 0
    }

    package func visit(_ record: HistoryEntry) throws {
        guard let session else { return }
        if run == nil, place == Schema.beginning, record.position != HistoryPosition(0) {
            // Earlier records were trimmed.
            place = record.position.predecessor.column
        }
        if run?.isFull ?? false { try endRun() }
        var batch = run ?? RecordBatch(of: session.key, session.reactor, after: nil, lineage: 0)
        batch.append(record)
        run = batch
    }

    package func visit(_ snapshot: Snapshot) throws {
        rows.snapshots.append((row, snapshot))
        rows.bytes += snapshot.state.count
    }

    package func visit(_ answer: StoredAnswer) throws {
        rows.answers.append((row, answer))
        rows.bytes += answer.body.count
    }

    package func visit(_ action: RunningAction) throws {
        rows.actions.append((row, action))
        rows.bytes += action.content.count
    }

    package func visit(_ timer: SessionTimer) throws {
        rows.timers.append((row, timer))
        rows.bytes += timer.content.count
    }

    package func visit(_ tags: SessionTags) throws {
        let change = TagChange(
            of: SessionKey(session: "", generation: ""), session?.reactor ?? "", tags)
        rows.tags += change.rows.map { (row, $0, tags.changed) }
        rows.bytes += change.bytes
    }

    package func visit(_ tombstone: SavedHead, deleted: Int64) throws {
        try endRun()
        row += 1
        rows.sessions.append((row, tombstone, 0, deleted))
    }

    private func endRun() throws {
        guard let run else { return }
        rows.runs.append((row, place, run))
        rows.bytes += run.text.count + 256
        place = run.last.column
        self.run = nil
        if rows.bytes >= Self.fullBytes { try send() }
    }

    // MARK: Sending

    private func send() throws {
        do throws(PostgresFault) {
            try sendSessions()
            try sendRuns()
            try sendOthers()
        } catch {
            throw JournalFailure(error)
        }
        rows = Rows()
    }

    private func sendSessions() throws(PostgresFault) {
        let all = rows.sessions
        let parameters: Parameters = [
            all.map(\.row), all.map(\.head.key.session), all.map(\.head.reactor),
            all.map(\.head.key.generation), all.map(\.created), all.map(\.head.owner?.text),
            all.map(\.deleted), all.map(\.head.keptAfter), all.map(\.head.keptVersion),
            all.map(\.head.creation.input),
        ]
        _ = try connection.run(
            """
            INSERT INTO sessions(session, id, reactor, generation, created, owner, deleted,
                kept_number, kept_version, input)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[],
                $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[])
            """, parameters, within: Self.limit)
    }

    private func sendRuns() throws(PostgresFault) {
        let all = rows.runs
        let parameters: Parameters = [
            all.map(\.row), all.map(\.place.number), all.map(\.place.part),
            all.map(\.run.last.column.number), all.map(\.run.last.column.part),
            all.map(\.run.version), all.map(\.run.count), all.map(\.run.text),
        ]
        _ = try connection.run(
            """
            INSERT INTO runs(session, after_number, after_part, number, part, version, count,
                writer, batch, lines)
            SELECT session, an, ap, n, p, v, c, 0, 0, lines
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                $6::bigint[], $7::bigint[], $8::bytea[]) t(session, an, ap, n, p, v, c, lines)
            """, parameters, within: Self.limit)
    }

    private func sendOthers() throws(PostgresFault) {
        var parameters: Parameters = [rows.snapshots.map(\.row)]
        parameters.addColumns(of: rows.snapshots.map(\.snapshot))
        _ = try connection.run(
            """
            INSERT INTO snapshots(session, version, number, last_action, state_version, time, state,
                listens)
            SELECT t.session, t.version, t.number, t.last_action, t.state_version, t.time, t.state,
                t.listens = 1
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
                $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[])
                t(session, version, number, last_action, state_version, time, state, listens)
            """, parameters, within: Self.limit)
        parameters = [rows.answers.map(\.row)]
        parameters.addColumns(of: rows.answers.map(\.answer))
        _ = try connection.run(
            """
            INSERT INTO answers(session, key, digest, status, time, body)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[],
                $6::bytea[])
            """, parameters, within: Self.limit)
        parameters = [rows.actions.map(\.row)]
        parameters.addColumns(of: rows.actions.map(\.action))
        _ = try connection.run(
            """
            INSERT INTO running(session, action, content, begun, subject, attempt, due, step)
            SELECT session, action, content, begun, subject, attempt, \(Schema.now) + wait, step
            FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::text[],
                $6::bigint[], $7::bigint[], $8::text[])
                t(session, action, content, begun, subject, attempt, wait, step)
            """, parameters, within: Self.limit)
        parameters = [rows.timers.map(\.row)]
        parameters.addColumns(of: rows.timers.map(\.timer))
        _ = try connection.run(
            """
            INSERT INTO timers(session, name, number, due, content, begun)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[],
                $6::bigint[])
            """, parameters, within: Self.limit)
        parameters = [
            rows.tags.map(\.row), rows.tags.map(\.tag.name.text), rows.tags.map(\.tag.value.text),
            rows.tags.map(\.changed),
        ]
        _ = try connection.run(
            """
            INSERT INTO tags(session, name, value, changed)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
            """, parameters, within: Self.limit)
    }
}

extension HistoryPosition {
    /// The position that precedes this one; for a creation, its own position.
    fileprivate var predecessor: HistoryPosition {
        part > 1 ? HistoryPosition(number, part: part - 1) : HistoryPosition(max(number, 1) - 1)
    }
}
