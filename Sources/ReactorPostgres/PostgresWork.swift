internal import Cluster
internal import Storage

// The search for sessions that act without a request, and that no member owns.
extension PostgresArchive: WorkFinder {
    func findWork(after place: Int64, _ answer: @escaping Answer<FoundWork>) {
        read(answer) { connection in
            let rows = try connection.run(Self.work, [place], within: SessionRow.limit)
            var found = FoundWork()
            for row in 0..<rows.count where rows.bool(row, 4) {
                found.sessions.append(
                    WorkingSession(
                        session: rows.text(row, 1), reactor: rows.text(row, 2),
                        stateVersion: Int(clamping: rows.integer(row, 3))))
            }
            if rows.count == FoundWork.limit { found.next = rows.integer(rows.count - 1, 0) }
            return found
        }
    }

    func findTimers(
        _ kind: TimerKind, after place: TimerPosition, before end: Int64,
        _ answer: @escaping Answer<FoundTimers>
    ) {
        read(answer) { connection in
            let rows = try connection.run(
                kind == .actions ? Self.timers : Self.expiries, [place.due, place.row, end],
                within: SessionRow.limit)
            var found = FoundTimers()
            for row in 0..<rows.count where rows.bool(row, 5) {
                let owner = rows.isNull(row, 6) ? nil : Node(number: rows.integer(row, 6))
                guard owner == nil || kind == .expiries else { continue }
                let session = WorkingSession(
                    session: rows.text(row, 2), reactor: rows.text(row, 3),
                    stateVersion: Int(clamping: rows.integer(row, 4)), owner: owner)
                found.sessions.append((session, rows.integer(row, 0)))
            }
            if rows.count == FoundTimers.limit {
                let last = rows.count - 1
                found.next = TimerPosition(due: rows.integer(last, 0), row: rows.integer(last, 1))
            }
            return found
        }
    }

    func timers(of session: SessionKey, _ answer: @escaping Answer<[SessionTimer]>) {
        read(answer, proves: { !$0.isEmpty }) { connection in
            try SessionRow.find(session, isEnded: false, connection)?.timers(connection) ?? []
        }
    }

    static let timers = timers("name > ''")
    static let expiries = timers("name = ''")

    /// The same rules as for ``work``.
    private static func timers(_ condition: String) -> String {
        """
        SELECT t.due, t.session, coalesce(s.id, ''), coalesce(s.reactor, ''),
            coalesce(n.state_version, 0), s.deleted IS NULL AND s.id IS NOT NULL, \(owner)
        FROM (SELECT DISTINCT due, session FROM timers
            WHERE \(condition) AND (due, session) > ($1, $2) AND due < $3
            ORDER BY due, session LIMIT \(FoundTimers.limit)) t
        LEFT JOIN LATERAL (
            SELECT id, reactor, deleted, node FROM sessions WHERE session = t.session LIMIT 1) s ON true
        LEFT JOIN LATERAL (
            SELECT state_version FROM snapshots WHERE session = t.session
            ORDER BY version DESC, number DESC LIMIT 1) n ON true
        ORDER BY t.due, t.session
        """
    }

    /// SQL for the member that owns the session; null if none does.
    private static let owner =
        "(SELECT n.node FROM nodes n WHERE n.node = s.node AND \(Membership.isMember) LIMIT 1)"

    /// Rows of ended and of owned sessions are examined as well. Only the newest snapshot counts.
    ///
    /// Why scalar and lateral queries: for `EXISTS` or a join PostgreSQL would read all rows.
    static let work = """
        SELECT w.session, coalesce(s.id, ''), coalesce(s.reactor, ''), coalesce(n.state_version, 0),
            s.deleted IS NULL AND s.id IS NOT NULL AND \(owner) IS NULL
                AND (coalesce(n.listens, false) OR
                    (SELECT true FROM running r WHERE r.session = w.session LIMIT 1) IS NOT NULL)
        FROM (
            (SELECT DISTINCT session FROM running WHERE session > $1
                ORDER BY session LIMIT \(FoundWork.limit))
            UNION
            (SELECT DISTINCT session FROM snapshots WHERE listens AND session > $1
                ORDER BY session LIMIT \(FoundWork.limit))
            ORDER BY session LIMIT \(FoundWork.limit)) w
        LEFT JOIN LATERAL (
            SELECT id, reactor, deleted, node FROM sessions WHERE session = w.session LIMIT 1) s ON true
        LEFT JOIN LATERAL (
            SELECT state_version, listens FROM snapshots WHERE session = w.session
            ORDER BY version DESC, number DESC LIMIT 1) n ON true
        ORDER BY w.session
        """
}
