internal import Storage

// Writes the changes of expiry rows that need no commit of the session. Each node writes its own
// changes.
extension Sweeper {
    /// - Returns: whether there is more to do.
    func writeExpiries(_ connection: Connection) throws(PostgresFault) -> Bool {
        guard !expiries.isEmpty else { return false }
        var step = expiries.next()
        if !step.postponed.isEmpty {
            _ = try connection.run(
                Self.postponement,
                [
                    step.postponed.map(\.key.session), step.postponed.map(\.key.generation),
                    step.postponed.map(\.due),
                ], within: SessionRow.limit)
        }
        if let place = step.place {
            let lives = Array(step.lives)
            let last = try connection.run(
                Self.addition, [place, lives.map(\.key), lives.map(\.value)],
                within: SessionRow.limit)
            step.place = last.isNull(0, 0) ? nil : last.integer(0, 0)
        }
        expiries.done(step)
        return true
    }

    /// Locks the rows in the same order as a commit does, so the two cannot deadlock.
    static let postponement = """
        UPDATE timers t SET due = greatest(t.due, u.due)
        FROM (
            SELECT d.session, u.due
            FROM unnest($1::text[], $2::text[], $3::bigint[]) u(id, generation, due)
            JOIN sessions s ON s.id = u.id AND s.generation = u.generation AND s.deleted IS NULL
            JOIN timers d ON d.session = s.session AND d.name = ''
            ORDER BY d.session FOR UPDATE OF d) u
        WHERE t.session = u.session AND t.name = ''
        """

    static let addition = """
        WITH step AS MATERIALIZED (
            SELECT session, reactor FROM sessions WHERE session > $1 AND deleted IS NULL
            ORDER BY session LIMIT \(ExpiryBacklog.step)),
        added AS (
            INSERT INTO timers(session, name, number, due, content)
            SELECT step.session, '', 0, \(Schema.now) + e.life, ''
            FROM step JOIN unnest($2::text[], $3::bigint[]) e(reactor, life)
                ON e.reactor = step.reactor
            ORDER BY step.session
            ON CONFLICT DO NOTHING)
        SELECT max(session) FROM step
        """
}
