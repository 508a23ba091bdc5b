internal import Storage

/// The statement that appends the parts of a wave: in one round trip, with a verdict on each.
///
/// A part is let in if its session's newest row ends where the part begins. All of a statement sees the
/// database at one moment; a row that somebody else adds meanwhile has the same key, so one of the two
/// is refused. Rows go in by the order of sessions: batches never wait for each other in a circle.
struct Append {
    let connection: Connection
    let writer: Int64
    let rules: Rules
    let limit: Duration

    /// The end of a session, as the statement has seen it.
    struct Seen {
        var end: HistoryPosition?
        var isDeleted: Bool
    }

    /// Decides parts.
    ///
    /// - Precondition: they are of different sessions.
    /// - Returns: for each part that was not let in, the end of its session; nil if there is none of its
    ///   generation.
    /// - Throws: ``PostgresFault``: nothing of this attempt is in the database, unless the connection
    ///   was lost.
    func send(_ parts: [Part]) throws(PostgresFault) -> [(part: Part, seen: Seen?)] {
        var parameters = Parameters()
        parameters.add(writer)
        let statement: String
        if parts.contains(where: \.needsWholeStatement) {
            statement = Self.whole
            parameters.addPlaces(parts, parts.indices.filter { parts[$0].after != nil })
            parameters.addRuns(parts)
            parameters.addWhole(parts)
        } else {
            let isShort = parts.allSatisfy { $0.runs.count == 1 }
            statement = isShort ? Self.short : Self.plain
            parameters.addPlaces(parts, nil)
            parameters.addRuns(parts, areWithPlaces: isShort)
        }
        let found = try connection.run(statement, parameters, within: limit)
        if rules.contains(.heedsWarnings) { try connection.refuseWarnings() }
        var seen: [Int: Seen] = [:]
        for row in 0..<found.count {
            let part = parts[Int(found.integer(row, 0))]
            if found.bool(row, 4) {
                part.outcome = .committed
                continue
            }
            seen[Int(found.integer(row, 0))] = Seen(
                end: found.isNull(row, 2)
                    ? nil : HistoryPosition(column: found.integer(row, 2), found.integer(row, 3)),
                isDeleted: found.bool(row, 1))
        }
        return parts.indices.compactMap { index in
            parts[index].outcome == .open ? (parts[index], seen[index]) : nil
        }
    }

    /// Finds out whether a part is in the database: a row stands at its place that this process has
    /// written with this number. The position alone does not say whose row it is.
    ///
    /// - Returns: for each part whether its row is there, and the end of its session.
    func look(for parts: [Part]) throws(PostgresFault) -> [(isThere: Bool, seen: Seen?)] {
        var parameters = Parameters()
        parameters.addPlaces(parts, nil)
        let found = try connection.run(Self.looking, parameters, within: limit)
        var all = [(isThere: Bool, seen: Seen?)](repeating: (false, nil), count: parts.count)
        for row in 0..<found.count {
            let index = Int(found.integer(row, 0))
            let seen = Seen(
                end: found.isNull(row, 2)
                    ? nil : HistoryPosition(column: found.integer(row, 2), found.integer(row, 3)),
                isDeleted: found.bool(row, 1))
            let isOwn =
                rules.contains(.recognisesItsOwn)
                ? found.integer(row, 4) == writer && found.integer(row, 5) == parts[index].number
                : !found.isNull(row, 4)
            all[index] = (isOwn, seen)
        }
        return all
    }

    // MARK: Statements

    /// Parts of sessions that exist: `p` has each with the newest row of its session.
    ///
    /// - Parameter rows: The columns of their rows, if each has one.
    private static func present(
        from first: Int, with rows: [(name: String, type: String)] = []
    ) -> String {
        let next = first + 6
        let types = rows.enumerated().map { ", $\(next + $0)::\($1.type)[]" }.joined()
        let names = rows.map { ", \($0.name)" }.joined()
        let columns = rows.map { ", t.\($0.name)" }.joined()
        return """
            SELECT t.i, s.session, s.deleted IS NOT NULL AS is_deleted, e.number, e.part, t.an, t.ap,
                t.has_runs, s.deleted IS NULL AND e.number = t.an AND e.part = t.ap AS fits\(columns)
            FROM unnest($\(first)::bigint[], $\(first + 1)::text[], $\(first + 2)::text[],
                $\(first + 3)::bigint[], $\(first + 4)::bigint[], $\(first + 5)::bigint[]\(types))
                t(i, id, generation, an, ap, has_runs\(names))
            JOIN sessions s ON s.id = t.id AND s.generation = t.generation
            LEFT JOIN LATERAL (
                SELECT number, part FROM runs WHERE session = s.session
                ORDER BY after_number DESC, after_part DESC LIMIT 1) e ON true
            """
    }

    /// The first rows of parts, and then the further rows of those that were let in.
    private static let rows = """
        r AS MATERIALIZED (
            SELECT * FROM unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
                $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bytea[])
                t(i, an, ap, n, p, v, c, batch, lines)),
        won AS (
            INSERT INTO runs(session, after_number, after_part, number, part, version, count,
                writer, batch, lines)
            SELECT p.session, r.an, r.ap, r.n, r.p, r.v, r.c, $1, r.batch, r.lines
            FROM p JOIN r ON r.i = p.i AND r.an = p.an AND r.ap = p.ap
            WHERE p.fits ORDER BY p.session
            ON CONFLICT DO NOTHING RETURNING session),
        more AS (
            INSERT INTO runs(session, after_number, after_part, number, part, version, count,
                writer, batch, lines)
            SELECT p.session, r.an, r.ap, r.n, r.p, r.v, r.c, $1, r.batch, r.lines
            FROM p JOIN r ON r.i = p.i AND (r.an, r.ap) <> (p.an, p.ap)
            WHERE (p.session IN (SELECT session FROM won)) IS TRUE
            ORDER BY p.session, r.an, r.ap)
        """

    /// For parts of one row each, as nearly all are: there is nothing to join with their places.
    ///
    /// Why `IN`: PostgreSQL hashes the sessions that were let in, whose number it does not expect. A
    /// join with them compares each part with each.
    static let short = """
        WITH p AS MATERIALIZED (\(present(from: 2, with: columns))),
        won AS (
            INSERT INTO runs(session, after_number, after_part, number, part, version, count,
                writer, batch, lines)
            SELECT p.session, p.an, p.ap, p.n, p.p, p.v, p.c, $1, p.batch, p.lines
            FROM p WHERE p.fits ORDER BY p.session
            ON CONFLICT DO NOTHING RETURNING session)
        SELECT p.i, p.is_deleted, p.number, p.part, p.session IN (SELECT session FROM won) FROM p
        """

    private static let columns = [
        ("n", "bigint"), ("p", "bigint"), ("v", "bigint"), ("c", "bigint"), ("batch", "bigint"),
        ("lines", "bytea"),
    ]

    static let plain = """
        WITH p AS MATERIALIZED (\(present(from: 2))),
        \(rows)
        SELECT p.i, p.is_deleted, p.number, p.part, p.session IN (SELECT session FROM won) FROM p
        """

    /// The same with creations, ends, and the data that go in with their part.
    static let whole = """
        WITH born AS (
            INSERT INTO sessions(id, reactor, generation, created, owner, deleted)
            SELECT t.id, t.reactor, t.generation, t.created, t.owner, t.deleted
            FROM unnest($17::bigint[], $18::text[], $19::text[], $20::text[], $21::bigint[],
                $22::text[], $23::bigint[])
                t(i, id, reactor, generation, created, owner, deleted)
            ORDER BY t.id
            ON CONFLICT (id) DO UPDATE SET session = DEFAULT, reactor = excluded.reactor,
                generation = excluded.generation, created = excluded.created,
                owner = excluded.owner, deleted = excluded.deleted, kept_number = 0,
                kept_version = 0
                WHERE sessions.deleted IS NOT NULL
            RETURNING session, id),
        p AS MATERIALIZED (
            \(present(from: 2))
            UNION ALL
            SELECT t.i, born.session, false, \(Schema.beginning.number), \(Schema.beginning.part),
                \(Schema.beginning.number), \(Schema.beginning.part), 1, true
            FROM unnest($17::bigint[], $18::text[]) t(i, id) JOIN born ON born.id = t.id),
        \(rows),
        good AS MATERIALIZED (
            SELECT p.i, p.session FROM p
            WHERE p.session IN (SELECT session FROM won) OR (p.has_runs = 0 AND p.fits)),
        ended AS (
            UPDATE sessions s SET deleted = t.time
            FROM unnest($24::bigint[], $25::bigint[]) t(i, time) JOIN good ON good.i = t.i
            WHERE s.session = good.session RETURNING s.session),
        removing AS (
            INSERT INTO removals(session)
            SELECT session FROM ended
            UNION ALL SELECT born.session FROM unnest($18::text[], $23::bigint[]) t(id, deleted)
                JOIN born ON born.id = t.id WHERE t.deleted IS NOT NULL
            ON CONFLICT DO NOTHING),
        saved AS (
            INSERT INTO snapshots(session, version, number, last_action, state_version, time, state)
            SELECT good.session, t.version, t.number, t.last_action, t.state_version, t.time, t.state
            FROM unnest($26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[], $30::bigint[],
                $31::bigint[], $32::bytea[])
                t(i, version, number, last_action, state_version, time, state)
            JOIN good ON good.i = t.i
            ON CONFLICT (session, version, number) DO UPDATE SET last_action = excluded.last_action,
                state_version = excluded.state_version, time = excluded.time, bytes = NULL,
                state = excluded.state),
        answered AS (
            INSERT INTO answers(session, key, digest, status, time, body)
            SELECT good.session, t.key, t.digest, t.status, t.time, t.body
            FROM unnest($33::bigint[], $34::text[], $35::bytea[], $36::bigint[], $37::bigint[],
                $38::bytea[]) t(i, key, digest, status, time, body)
            JOIN good ON good.i = t.i
            ON CONFLICT (session, key) DO UPDATE SET digest = excluded.digest,
                status = excluded.status, time = excluded.time, body = excluded.body),
        started AS (
            INSERT INTO running(session, action, content, begun, subject)
            SELECT good.session, t.action, t.content, t.begun, t.subject
            FROM unnest($39::bigint[], $40::bigint[], $41::bytea[], $42::bigint[], $43::text[])
                t(i, action, content, begun, subject)
            JOIN good ON good.i = t.i
            ON CONFLICT (session, action) DO UPDATE SET content = excluded.content,
                begun = excluded.begun, subject = excluded.subject),
        settled AS (
            DELETE FROM running r USING unnest($44::bigint[], $45::bigint[]) t(i, action), good
            WHERE good.i = t.i AND r.session = good.session AND r.action = t.action)
        SELECT p.i, p.is_deleted, p.number, p.part,
            p.i IN (SELECT i FROM good) OR (p.is_deleted AND p.has_runs = 0)
        FROM p
        """

    static let looking = """
        WITH p AS MATERIALIZED (\(present(from: 1)))
        SELECT p.i, p.is_deleted, p.number, p.part, o.writer, o.batch
        FROM p LEFT JOIN runs o ON o.session = p.session AND o.after_number = p.an
            AND o.after_part = p.ap
        """
}

extension Parameters {
    /// - Parameter some: The indices of the parts to add; nil: all.
    fileprivate mutating func addPlaces(_ parts: [Part], _ some: [Int]?) {
        let indices = some ?? Array(parts.indices)
        add(indices.map { Int64($0) })
        add(indices.map { parts[$0].key.session as String? })
        add(indices.map { parts[$0].key.generation as String? })
        add(indices.map { parts[$0].place.number })
        add(indices.map { parts[$0].place.part })
        add(indices.map { parts[$0].runs.isEmpty ? 0 : 1 as Int64 })
    }

    /// - Parameter areWithPlaces: Whether each part has one row, whose place is that of the part.
    fileprivate mutating func addRuns(_ parts: [Part], areWithPlaces: Bool = false) {
        var columns = [[Int64]](repeating: [], count: 8)
        var lines: [[UInt8]] = []
        for (index, part) in parts.enumerated() {
            var place = part.place
            for run in part.runs {
                let last = run.last.column
                let row = [
                    Int64(index), place.number, place.part, last.number, last.part,
                    Int64(clamping: run.version), Int64(run.count), part.number,
                ]
                for (column, value) in row.enumerated() { columns[column].append(value) }
                lines.append(run.text)
                place = last
            }
        }
        for column in columns[(areWithPlaces ? 3 : 0)...] { add(column) }
        add(lines)
    }

    /// The parameters that the plain statement has not.
    fileprivate mutating func addWhole(_ parts: [Part]) {
        let new = parts.enumerated().filter { $0.element.after == nil }
        add(new.map { Int64($0.offset) })
        add(new.map { $0.element.key.session as String? })
        add(new.map { $0.element.runs.first?.reactor ?? "" as String? })
        add(new.map { $0.element.key.generation as String? })
        add(new.map { $0.element.runs.first?.created ?? 0 as Int64 })
        add(new.map { $0.element.runs.first?.owner })
        add(new.map { $0.element.deleted })
        let ended = parts.enumerated().filter {
            $0.element.after != nil && $0.element.deleted != nil
        }
        add(ended.map { Int64($0.offset) })
        add(ended.map { $0.element.deleted ?? 0 as Int64 })
        // The data of a session that ends are dropped.
        let living = parts.enumerated().filter { $0.element.deleted == nil }
        let snapshots = living.flatMap { one in
            one.element.snapshots.values.map { (Int64(one.offset), $0) }
        }
        add(snapshots.map(\.0))
        addColumns(of: snapshots.map(\.1))
        let answers = living.flatMap { one in
            one.element.answers.values.map { (Int64(one.offset), $0) }
        }
        add(answers.map(\.0))
        addColumns(of: answers.map(\.1))
        let actions = living.flatMap { one in one.element.actions.map { (one.offset, $0) } }
        let started = actions.compactMap { index, action in
            action.value.map { (Int64(index), $0) }
        }
        add(started.map(\.0))
        addColumns(of: started.map(\.1))
        let settled = actions.filter { $0.1.value == nil }
        add(settled.map { Int64($0.0) })
        add(settled.map { Int64(clamping: $0.1.key) })
    }
}
