internal import GRDB

// The search for sessions that act without a request, in a journal's file.
extension FileArchive: WorkFinder {
    func findWork(after place: Int64, _ answer: @escaping Answer<FoundWork>) {
        read(answer) { database in
            var found = FoundWork()
            var (count, last) = (0, place)
            try database.each(Self.workQuery, .integer(place), .integer(Int64(FoundWork.limit))) {
                row in
                (count, last) = (count + 1, row.integer(0))
                guard row.integer(4) != 0 else { return }
                found.sessions.append(
                    WorkingSession(
                        session: row.string(1), reactor: row.string(2),
                        stateVersion: Int(row.integer(3))))
            }
            if count == FoundWork.limit { found.next = last }
            return found
        }
    }

    func findTimers(
        _ kind: TimerKind, after place: TimerPosition, before end: Int64,
        _ answer: @escaping Answer<FoundTimers>
    ) {
        read(answer) { database in
            var (found, count, last) = (FoundTimers(), 0, place)
            try database.each(
                Self.timerQuery(kind), .integer(place.due), .integer(place.row), .integer(end),
                .integer(Int64(FoundTimers.limit))
            ) { row in
                (count, last) = (count + 1, TimerPosition(due: row.integer(0), row: row.integer(1)))
                guard !row.isNull(2) else { return }
                let session = WorkingSession(
                    session: row.string(2), reactor: row.string(3),
                    stateVersion: Int(row.integer(4)))
                found.sessions.append((session, last.due))
            }
            if count == FoundTimers.limit { found.next = last }
            return found
        }
    }

    func timers(of session: SessionKey, _ answer: @escaping Answer<[SessionTimer]>) {
        read(answer) { database in
            guard let stored = try FileSessionRow(session, in: database) else { return [] }
            return try SessionTimer.all(of: stored, from: database)
        }
    }

    static func timerQuery(_ kind: TimerKind) -> String {
        """
        SELECT t.due, t.session, s.id, s.reactor, n.state_version
        FROM timers t
        LEFT JOIN sessions s ON s.row = t.session
        LEFT JOIN snapshots n ON n.session = t.session AND (n.version, n.number) = (
            SELECT m.version, m.number FROM snapshots m WHERE m.session = t.session
            ORDER BY m.version DESC, m.number DESC LIMIT 1)
        WHERE t.name \(kind == .expiries ? "=" : ">") ''
            AND (t.due, t.session) > (?1, ?2) AND t.due < ?3
        GROUP BY t.due, t.session ORDER BY t.due, t.session LIMIT ?4
        """
    }

    /// Rows of sessions that have ended are examined as well. Only the newest snapshot counts.
    static let workQuery = """
        SELECT w.session, s.id, s.reactor, n.state_version, s.id IS NOT NULL AND (n.listens = 1
            OR EXISTS (SELECT 1 FROM running r WHERE r.session = w.session))
        FROM (
            SELECT session FROM running WHERE session > ?1
            UNION SELECT session FROM snapshots WHERE listens AND session > ?1
            ORDER BY session LIMIT ?2) w
        LEFT JOIN sessions s ON s.row = w.session
        LEFT JOIN snapshots n ON n.session = w.session AND (n.version, n.number) = (
            SELECT m.version, m.number FROM snapshots m WHERE m.session = w.session
            ORDER BY m.version DESC, m.number DESC LIMIT 1)
        ORDER BY w.session
        """
}
