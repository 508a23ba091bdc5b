internal import GRDB

// Writes the changes of expiry rows that need no commit of the session.
extension Maintenance {
    /// - Returns: the number of rows that were written or examined.
    func writeExpiries(_ limit: Int, _ database: Database) throws -> Int {
        var step = expiries.next(min(limit, ExpiryBacklog.step))
        for (key, due) in step.postponed {
            try database.run(
                Self.postponement, .integer(due), .string(key.session), .string(key.generation))
        }
        if let place = step.place {
            step.place = try database.integer(Self.lastOfStep, .integer(place))
            for (reactor, life) in step.lives {
                guard let last = step.place else { break }
                try database.run(
                    Self.addition, .integer(place), .integer(last), .string(reactor),
                    .integer(now() + life))
            }
        }
        expiryStep = step
        return step.postponed.count + (step.place == nil ? 0 : ExpiryBacklog.step)
    }

    static let postponement = """
        UPDATE timers SET due = max(due, ?) WHERE name = '' AND session = (
            SELECT row FROM sessions WHERE id = ? AND generation = ?)
        """

    static let lastOfStep = """
        SELECT max(row) FROM (
            SELECT row FROM sessions WHERE row > ? ORDER BY row LIMIT \(ExpiryBacklog.step))
        """

    /// Why `+reactor`: SQLite then reads a range of rows and does not use the index of reactors.
    static let addition = """
        INSERT OR IGNORE INTO timers(session, name, number, due, content)
        SELECT row, '', 0, ?4, '' FROM sessions
        WHERE row > ?1 AND row <= ?2 AND id IS NOT NULL AND +reactor = ?3
        """
}
