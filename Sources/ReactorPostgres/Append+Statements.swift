// The statements of ``Append``, each with and without the fence of an owner.
extension Append {
    enum Form {
        /// Parts that have one row each; nearly all parts do.
        case short
        /// Any number of rows.
        case plain
        /// Anything that a part can have.
        case whole

        init(of parts: [Part]) {
            if parts.contains(where: \.needsWholeStatement) {
                self = .whole
            } else {
                self = parts.allSatisfy { $0.runs.count == 1 } ? .short : .plain
            }
        }
    }

    static let short = short(fence: nil)
    static let plain = plain(fence: nil)
    static let whole = whole(fence: nil)
    static let shortFenced = short(fence: 14)
    static let plainFenced = plain(fence: 17)
    static let wholeFenced = whole(fence: 63)

    /// - Parameter hasOwnTimes: Whether the times of the parts are written; only in tests.
    static func statement(_ form: Form, isFenced: Bool, hasOwnTimes: Bool = false) -> String {
        if hasOwnTimes, form == .whole { return whole(fence: isFenced ? 63 : nil) { $0 } }
        return switch form {
        case .short: isFenced ? shortFenced : short
        case .plain: isFenced ? plainFenced : plain
        case .whole: isFenced ? wholeFenced : whole
        }
    }

    /// Parts of sessions that exist: `p` has each with the newest row of its session.
    ///
    /// - Parameters:
    ///   - rows: The columns of their rows, if each has one.
    ///   - fence: The number of the parameter with the node. The next parameter has the epochs;
    ///     NULL accepts any epoch.
    private static func present(
        from first: Int, with rows: [(name: String, type: String)] = [], fence: Int? = nil
    ) -> String {
        let next = first + 6
        let types = rows.enumerated().map { ", $\(next + $0)::\($1.type)[]" }.joined()
        let names = rows.map { ", \($0.name)" }.joined()
        let columns = rows.map { ", t.\($0.name)" }.joined()
        let isOwned = fence.map { "(t.epoch IS NULL OR s.node = $\($0) AND s.epoch = t.epoch)" }
        return """
            SELECT t.i, s.session, s.deleted IS NOT NULL AS is_deleted, e.number, e.part, t.an, t.ap,
                t.has_runs, s.deleted IS NULL AND e.number = t.an AND e.part = t.ap
                    \(isOwned.map { "AND \($0)" } ?? "") AS fits\(columns)
                \(isOwned.map { ", coalesce(\($0), false) AS is_owned, s.node" } ?? "")
            FROM unnest($\(first)::bigint[], $\(first + 1)::text[], $\(first + 2)::text[],
                $\(first + 3)::bigint[], $\(first + 4)::bigint[], $\(first + 5)::bigint[]\(types)
                \(fence.map { ", $\($0 + 1)::bigint[]" } ?? ""))
                t(i, id, generation, an, ap, has_runs\(names)\(fence == nil ? "" : ", epoch"))
            JOIN sessions s ON s.id = t.id AND s.generation = t.generation
            LEFT JOIN LATERAL (
                SELECT number, part FROM runs WHERE session = s.session
                ORDER BY after_number DESC, after_part DESC LIMIT 1) e ON true
            """
    }

    private static func owner(_ fence: Int?) -> String {
        fence == nil ? "" : ", p.is_owned, p.node"
    }

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

    /// Why `IN`: PostgreSQL underestimates the number of accepted sessions. With `IN` it hashes
    /// these sessions. With a join it would compare each part with each of them.
    private static func short(fence: Int?) -> String {
        """
        WITH p AS MATERIALIZED (\(present(from: 2, with: columns, fence: fence))),
        won AS (
            INSERT INTO runs(session, after_number, after_part, number, part, version, count,
                writer, batch, lines)
            SELECT p.session, p.an, p.ap, p.n, p.p, p.v, p.c, $1, p.batch, p.lines
            FROM p WHERE p.fits ORDER BY p.session
            ON CONFLICT DO NOTHING RETURNING session)
        SELECT p.i, p.is_deleted, p.number, p.part, p.session IN (SELECT session FROM won),
            \(CommitPoint.columns)\(owner(fence))
        FROM p
        """
    }

    private static let columns = [
        ("n", "bigint"), ("p", "bigint"), ("v", "bigint"), ("c", "bigint"), ("batch", "bigint"),
        ("lines", "bytea"),
    ]

    private static func plain(fence: Int?) -> String {
        """
        WITH p AS MATERIALIZED (\(present(from: 2, fence: fence))),
        \(rows)
        SELECT p.i, p.is_deleted, p.number, p.part, p.session IN (SELECT session FROM won),
            \(CommitPoint.columns)\(owner(fence))
        FROM p
        """
    }

    /// The same with creations, ends, and the data of their parts. The times are the database's,
    /// because those of the parts come from a node's clock.
    private static func whole(
        fence: Int?, _ ownTime: ((String) -> String)? = nil
    ) -> String {
        let time = ownTime ?? { _ in Schema.now }
        let node = fence.map { "CASE WHEN t.deleted IS NULL THEN $\($0) END" } ?? "NULL"
        return """
            WITH born AS (
                INSERT INTO sessions(id, reactor, generation, created, owner, deleted, input, node)
                SELECT t.id, t.reactor, t.generation, \(time("t.created")), t.owner,
                    CASE WHEN t.deleted IS NOT NULL THEN \(time("t.deleted")) END, t.input, \(node)::bigint
                FROM unnest($17::bigint[], $18::text[], $19::text[], $20::text[], $21::bigint[],
                    $22::text[], $23::bigint[], $50::bytea[])
                    t(i, id, reactor, generation, created, owner, deleted, input)
                ORDER BY t.id
                ON CONFLICT (id) DO UPDATE SET session = DEFAULT, reactor = excluded.reactor,
                    generation = excluded.generation, created = excluded.created,
                    owner = excluded.owner, deleted = excluded.deleted, input = excluded.input,
                    kept_number = 0, kept_version = 0, node = excluded.node, epoch = 1, taken = NULL
                    WHERE sessions.deleted IS NOT NULL
                RETURNING session, id),
            p AS MATERIALIZED (
                \(present(from: 2, fence: fence))
                UNION ALL
                SELECT t.i, born.session, false, \(Schema.beginning.number), \(Schema.beginning.part),
                    \(Schema.beginning.number), \(Schema.beginning.part), 1, true
                    \(fence == nil ? "" : ", true, NULL")
                FROM unnest($17::bigint[], $18::text[]) t(i, id) JOIN born ON born.id = t.id),
            \(rows),
            good AS MATERIALIZED (
                SELECT p.i, p.session FROM p
                WHERE p.session IN (SELECT session FROM won) OR (p.has_runs = 0 AND p.fits)),
            ended AS (
                UPDATE sessions s SET deleted = \(time("t.time")), node = NULL, epoch = s.epoch + 1
                FROM unnest($24::bigint[], $25::bigint[]) t(i, time) JOIN good ON good.i = t.i
                WHERE s.session = good.session RETURNING s.session),
            removing AS (
                INSERT INTO removals(session)
                SELECT session FROM ended
                UNION ALL SELECT born.session FROM unnest($18::text[], $23::bigint[]) t(id, deleted)
                    JOIN born ON born.id = t.id WHERE t.deleted IS NOT NULL
                ON CONFLICT DO NOTHING),
            saved AS (
                INSERT INTO snapshots(session, version, number, last_action, state_version, time,
                    state, listens)
                SELECT good.session, t.version, t.number, t.last_action, t.state_version, \(time("t.time")),
                    t.state, t.listens = 1
                FROM unnest($26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[], $30::bigint[],
                    $31::bigint[], $32::bytea[], $33::bigint[])
                    t(i, version, number, last_action, state_version, time, state, listens)
                JOIN good ON good.i = t.i
                ON CONFLICT (session, version, number) DO UPDATE SET last_action = excluded.last_action,
                    state_version = excluded.state_version, time = excluded.time, bytes = NULL,
                    state = excluded.state, listens = excluded.listens
                RETURNING 1),
            answered AS (
                INSERT INTO answers(session, key, digest, status, time, body)
                SELECT good.session, t.key, t.digest, t.status, \(time("t.time")), t.body
                FROM unnest($34::bigint[], $35::text[], $36::bytea[], $37::bigint[], $38::bigint[],
                    $39::bytea[]) t(i, key, digest, status, time, body)
                JOIN good ON good.i = t.i
                ON CONFLICT (session, key) DO UPDATE SET digest = excluded.digest,
                    status = excluded.status, time = excluded.time, body = excluded.body
                RETURNING 1),
            started AS (
                INSERT INTO running(session, action, content, begun, subject, attempt, due, step)
                SELECT good.session, t.action, t.content, t.begun, t.subject, t.attempt,
                    \(Schema.now) + t.wait, t.step
                FROM unnest($40::bigint[], $41::bigint[], $42::bytea[], $43::bigint[], $44::text[],
                    $45::bigint[], $46::bigint[], $47::text[])
                    t(i, action, content, begun, subject, attempt, wait, step)
                JOIN good ON good.i = t.i
                ON CONFLICT (session, action) DO UPDATE SET content = excluded.content,
                    begun = excluded.begun, subject = excluded.subject,
                    attempt = excluded.attempt, due = excluded.due, step = excluded.step
                RETURNING 1),
            settled AS (
                DELETE FROM running r USING unnest($48::bigint[], $49::bigint[]) t(i, action), good
                WHERE good.i = t.i AND r.session = good.session AND r.action = t.action
                RETURNING 1),
            scheduled AS (
                INSERT INTO timers(session, name, number, due, content, begun)
                SELECT good.session, t.name, t.number, t.due, t.content, t.begun
                FROM unnest($51::bigint[], $52::text[], $53::bigint[], $54::bigint[], $55::bytea[],
                    $56::bigint[]) t(i, name, number, due, content, begun)
                JOIN good ON good.i = t.i ORDER BY good.session
                ON CONFLICT (session, name) DO UPDATE SET number = excluded.number,
                    content = excluded.content, begun = excluded.begun, due = greatest(excluded.due,
                        CASE WHEN excluded.name = '' THEN timers.due END)
                RETURNING 1),
            unscheduled AS (
                DELETE FROM timers d USING unnest($57::bigint[], $58::text[]) t(i, name), good
                WHERE good.i = t.i AND d.session = good.session AND d.name = t.name
                RETURNING 1),
            clock AS MATERIALIZED (SELECT \(Schema.now) AS now),
            tagged AS (
                INSERT INTO tags(session, name, value, changed)
                SELECT good.session, t.name, t.value, \(ownTime == nil ? "clock.now" : "t.changed")
                FROM unnest($59::bigint[], $60::text[], $61::text[], $62::bigint[])
                    t(i, name, value, changed)
                JOIN good ON good.i = t.i CROSS JOIN clock ORDER BY good.session
                ON CONFLICT (session, name) DO UPDATE SET value = excluded.value,
                    changed = excluded.changed
                RETURNING 1),
            untagged AS (
                DELETE FROM tags d USING unnest($59::bigint[], $60::text[]) t(i, name), good
                WHERE t.name = '' AND good.i = t.i AND d.session = good.session
                    AND NOT EXISTS (
                        SELECT 1 FROM unnest($59::bigint[], $60::text[]) n(i, name)
                        WHERE n.i = t.i AND n.name = d.name)
                RETURNING 1)
            SELECT p.i, p.is_deleted, p.number, p.part,
                p.i IN (SELECT i FROM good) OR (p.is_deleted AND p.has_runs = 0),
                \(CommitPoint.columns(after: [
                    "saved", "answered", "started", "settled", "scheduled", "unscheduled", "tagged",
                    "untagged",
                ]))
                \(owner(fence))
            FROM p
            """
    }

    static let looking = """
        WITH p AS MATERIALIZED (\(present(from: 1)))
        SELECT p.i, p.is_deleted, p.number, p.part, o.writer, o.batch
        FROM p LEFT JOIN runs o ON o.session = p.session AND o.after_number = p.an
            AND o.after_part = p.ap
        """
}
