internal import GRDB

// Retention, in small steps between two groups of commits.
extension JournalWriter {
    /// One step: at most ``JournalRetention/stepRows`` rows go. Nil if all is well.
    func trim() -> JournalFailure? {
        attempt { database in
            let now =
                try Int64.fetchOne(
                    database, sql: "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)") ?? 0
            try database.inTransaction(.immediate) {
                try trimAnswers(before: now - retention.answers, database)
                try removeDeleted(before: now - retention.age, database)
                try look(at: 20, before: now - retention.age, database)
                return .commit
            }
        }
    }

    private func trimAnswers(before time: Int64, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                DELETE FROM answers WHERE (session, key) IN
                    (SELECT session, key FROM answers WHERE time < ? LIMIT \(retention.stepRows))
                """
        ).run(.integer(time))
    }

    /// The records of sessions that were deleted, then, after the age, their tombstones.
    private func removeDeleted(before time: Int64, _ database: Database) throws {
        let gone = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT row, id IS NULL OR deleted < ? FROM sessions
                    WHERE id IS NULL OR deleted IS NOT NULL LIMIT 20
                    """),
            arguments: [time])
        var left = retention.stepRows
        for session in gone where left > 0 {
            let row: Int64 = session[0]
            left -= try removeRecords(of: row, through: .max, limit: left, database)
            guard left > 0 else { return }
            for table in ["snapshots", "answers", "running"] {
                try database.cachedStatement(sql: "DELETE FROM \(table) WHERE session = ?")
                    .run(.integer(row))
            }
            let isForgotten: Bool = session[1]
            if isForgotten {
                try database.cachedStatement(sql: "DELETE FROM sessions WHERE row = ?")
                    .run(.integer(row))
            }
        }
    }

    private func removeRecords(
        of row: Int64, through number: Int64, limit: Int, _ database: Database
    ) throws -> Int {
        try database.cachedStatement(
            sql: """
                DELETE FROM records WHERE session = ? AND (number, part) IN
                    (SELECT number, part FROM records WHERE session = ? AND number <= ?
                     ORDER BY number, part LIMIT ?)
                """
        ).run(.integer(row), .integer(row), .integer(number), .integer(Int64(limit)))
        return database.changesCount
    }

    /// The sessions that are known to have too much, and the next few of all.
    private func look(at count: Int, before time: Int64, _ database: Database) throws {
        var left = retention.stepRows
        let busy = heads.sessions(keeping: retention.records + retention.records / 8)
        for (session, head) in busy.prefix(count) where left > 0 {
            left -= try trim(head.row, newest: head.number, before: time, left, database)
            if left > 0 { heads[session]?.kept = min(head.kept, retention.records) }
        }
        let rows = try Int64.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT row FROM sessions WHERE row > ? AND deleted IS NULL
                    ORDER BY row LIMIT \(count)
                    """),
            arguments: [nextLook])
        nextLook = rows.count < count ? 0 : rows.last ?? 0
        for row in rows where left > 0 {
            let newest = try NewestPlace(of: row, in: database).number
            left -= try trim(row, newest: newest, before: time, left, database)
        }
    }

    /// Law: up to a snapshot, so that every version that is kept can be rebuilt, and never past
    /// the newest one. What is kept begins there even before the last of the rows is gone.
    private func trim(
        _ row: Int64, newest: UInt64, before time: Int64, _ limit: Int, _ database: Database
    ) throws -> Int {
        let beyond = Int64(clamping: newest) - Int64(retention.records)
        let cut = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT number, version FROM snapshots
                    WHERE session = ? AND (number <= ? OR time < ?) ORDER BY version DESC, number DESC
                    LIMIT 1
                    """),
            arguments: [row, beyond, time])
        guard let cut, let number = cut[0] as Int64?, number > 0 else { return 0 }
        // The newest record stays in any case: it says where the session stands.
        let last = min(number, Int64(clamping: newest) - 1)
        let removed = try removeRecords(of: row, through: last, limit: limit, database)
        guard removed > 0 else { return 0 }
        try database.cachedStatement(
            sql: "UPDATE sessions SET kept_after = ?, kept_version = ? WHERE row = ?"
        ).run(.integer(number), .integer(cut[1]), .integer(row))
        try database.cachedStatement(
            sql: "DELETE FROM snapshots WHERE session = ? AND number < ?"
        ).run(.integer(row), .integer(number))
        return removed
    }
}
