internal import GRDB

// Retention. Steps return the rows that they removed: about `limit`, or more if one is large.
extension Maintenance {
    /// Trims sessions that have grown beyond the limits since they were last trimmed.
    func trimCrowded(_ limit: Int, _ database: Database) throws -> Int {
        var left = limit
        while left > 0, let session = heads.crowded.first {
            guard let head = heads[session], !head.isDeleted else {
                heads.crowded.remove(session)
                continue
            }
            let step = try trim(
                head.row, newest: head.number, beyondBytes: head.bytes - retention.bytes, left,
                database)
            left -= step.removed + 1
            guard step.isDone else { continue }
            heads.crowded.remove(session)
            // Without a snapshot to trim up to, the next attempt follows after further growth.
            let tried = head.number - min(head.number, UInt64(retention.records))
            heads[session]?.trimmed = max(step.keptAfter, tried)
            heads[session]?.trimmedBytes = max(
                head.trimmedBytes, step.keptAfterBytes, head.bytes - retention.bytes)
        }
        return limit - max(0, left)
    }

    func look(_ limit: Int, _ database: Database) throws -> Int {
        var left = limit
        left -= try trimAnswers(left, database)
        if left > 0 { left -= try forgetDeleted(left, database) }
        if left > 0 { left -= try removeOver(left, database) }
        if left > 0 { left -= try lookAtAll(left, database) }
        if left > 0 { endLook() }
        return limit - left
    }

    private func trimAnswers(_ limit: Int, _ database: Database) throws -> Int {
        var found: [(session: Int64, key: String)] = []
        try database.each(
            "SELECT session, key FROM answers WHERE time < ? ORDER BY time LIMIT ?",
            .integer(now() - retention.answers), .integer(Int64(limit))
        ) { found.append(($0.integer(0), $0.string(1))) }
        let remove = try database.cachedStatement(
            sql: "DELETE FROM answers WHERE session = ? AND key = ?")
        for answer in found { try remove.run(.integer(answer.session), .string(answer.key)) }
        return found.count
    }

    /// Removes the oldest tombstones, if they are too old or too many.
    private func forgetDeleted(_ limit: Int, _ database: Database) throws -> Int {
        guard
            let first = try database.integer("SELECT min(place) FROM tombstones"),
            let last = try database.integer("SELECT max(place) FROM tombstones")
        else { return 0 }
        let tooMany = last - first + 1 - Int64(retention.tombstones)
        let byCount = tooMany > 0 ? first + min(tooMany, Int64(limit)) - 1 : first - 1
        let byAge =
            try database.integer(
                """
                SELECT max(place) FROM
                    (SELECT place, deleted FROM tombstones ORDER BY place LIMIT ?)
                WHERE deleted < ?
                """, .integer(Int64(limit)), .integer(now() - retention.age)) ?? first - 1
        guard max(byCount, byAge) >= first else { return 0 }
        try database.run("DELETE FROM tombstones WHERE place <= ?", .integer(max(byCount, byAge)))
        return database.changesCount
    }

    /// Removes the rows of deleted sessions and of earlier generations.
    private func removeOver(_ limit: Int, _ database: Database) throws -> Int {
        var left = limit
        var rows: [Int64] = []
        try database.each(
            "SELECT row FROM sessions WHERE id IS NULL AND row > ? ORDER BY row LIMIT 64",
            .integer(nextOver)
        ) { rows.append($0.integer(0)) }
        for row in rows {
            // Its row must stay until its last record is removed.
            if tail.holds(row) || endedNow.contains(row) {
                isMoveWanted = true
            } else {
                left -= try removeAll(of: row, left, database)
                guard left > 0 else { return limit - left }
            }
            nextOver = row
        }
        if rows.count < 64 { nextOver = 0 }
        return limit - left
    }

    private func removeAll(of row: Int64, _ limit: Int, _ database: Database) throws -> Int {
        var left = limit
        left -= try removeRecords(of: row, cost: 1, left, database).cost
        guard left > 0 else { return limit - left }
        left -= try removeSnapshots(of: row, left, database).cost
        guard left > 0 else { return limit - left }
        for (table, key) in [
            ("answers", "key"), ("running", "action"), ("timers", "name"), ("tags", "name"),
        ] {
            left -= try removeFirst(of: table, by: key, of: row, left, database).cost
            guard left > 0 else { return limit - left }
        }
        try database.run("DELETE FROM sessions WHERE row = ?", .integer(row))
        return limit - left + 1
    }

    /// Removes a session's first records, row by row.
    ///
    /// - Parameters:
    ///   - last: a row that begins before it and continues after it stays whole.
    ///   - cost: of a row, besides its bytes.
    private func removeRecords(
        of row: Int64, through last: UInt64 = UInt64(Int64.max), cost: Int, _ limit: Int,
        _ database: Database
    ) throws -> (cost: Int, isDone: Bool) {
        try removeLarge(limit, cost, database) {
            try database.run(
                """
                DELETE FROM records WHERE rowid = (SELECT rowid FROM records
                    WHERE session = ? AND number <= ? ORDER BY number, part LIMIT 1)
                """, .integer(row), .number(last))
        }
    }

    /// Removes a session's first snapshots, one by one.
    ///
    /// - Parameter cut: the oldest that stays; nil: none stays.
    private func removeSnapshots(
        of row: Int64, before cut: TrimPoint? = nil, _ limit: Int, _ database: Database
    ) throws -> (cost: Int, isDone: Bool) {
        let most = UInt64(Int64.max)
        return try removeLarge(limit, 1, database) {
            try database.run(
                """
                DELETE FROM snapshots WHERE session = ?1 AND (version, number) =
                    (SELECT version, number FROM snapshots
                     WHERE session = ?1 AND version <= ?2 AND number < ?3
                     ORDER BY version, number LIMIT 1)
                """, .integer(row), .number(cut?.version ?? most), .number(cut?.number ?? most))
        }
    }

    /// Removes rows that may be large, as long as their cost is below the limit: the last of them
    /// may exceed it, so a very large row is a step of its own.
    ///
    /// Why pages: SQLite frees those that a row occupies. It would read a text to know its length.
    ///
    /// - Parameters:
    ///   - cost: of a row, besides its bytes.
    ///   - removeNext: removes the next row, if there is one.
    /// - Returns: the cost, and whether no row is left.
    private func removeLarge(
        _ limit: Int, _ cost: Int, _ database: Database, _ removeNext: () throws -> Void
    ) throws -> (cost: Int, isDone: Bool) {
        var sum = 0
        var free = try freePages(database)
        while sum < limit {
            try removeNext()
            guard database.changesCount > 0 else { return (sum, true) }
            let before = free
            free = try freePages(database)
            sum += cost + max(0, free - before) * Self.rowsPerPage
        }
        return (sum, false)
    }

    private func freePages(_ database: Database) throws -> Int {
        Int(clamping: try database.integer("PRAGMA freelist_count") ?? 0)
    }

    /// A page has 4 KiB.
    private static let rowsPerPage = 4_096 / bytesPerRow

    /// Removes the first rows of a session from a table, one by one, in the order of `key`. Why one
    /// by one: running actions and stored answers may be large.
    private func removeFirst(
        of table: String, by key: String, of row: Int64, _ limit: Int, _ database: Database
    ) throws -> (cost: Int, isDone: Bool) {
        try removeLarge(limit, 1, database) {
            try database.run(
                """
                DELETE FROM \(table) WHERE session = ?1
                    AND \(key) = (SELECT min(\(key)) FROM \(table) WHERE session = ?1)
                """, .integer(row))
        }
    }

    /// Trims the next few sessions by age: records may expire without a commit.
    private func lookAtAll(_ limit: Int, _ database: Database) throws -> Int {
        var left = limit
        var rows: [Int64] = []
        try database.each(
            "SELECT row FROM sessions WHERE id IS NOT NULL AND row > ? ORDER BY row LIMIT 16",
            .integer(nextLook)
        ) { rows.append($0.integer(0)) }
        for row in rows {
            let newest = try HistoryEnd(of: row, tail.newest(of: row), database).number
            let step = try trim(row, newest: newest, left, database)
            left -= step.removed
            guard step.isDone, left > 0 else { return limit }
            nextLook = row
        }
        if rows.count < 16 { nextLook = 0 }
        return limit - left
    }

    /// A snapshot up to which records are trimmed.
    private struct TrimPoint {
        var number: UInt64 = 0
        var version: UInt64 = 0
        /// The bytes of the session up to that snapshot.
        var bytes = 0

        init() {}

        init(_ row: FoundRow) throws {
            number = try row.number(0)
            version = try row.number(1)
            bytes = Int(clamping: row.integer(2))
        }
    }

    /// The oldest snapshot whose later records are within the limits, or else the newest; nil if
    /// nothing has to be trimmed.
    private func cut(
        _ row: Int64, beyondBytes: Int, _ database: Database
    ) throws -> TrimPoint? {
        guard beyondBytes > 0 else { return nil }
        let fits = try database.first(
            """
            SELECT number, version, bytes FROM snapshots WHERE session = ? AND bytes >= ?
            ORDER BY version, number LIMIT 1
            """, .integer(row), .integer(Int64(beyondBytes)), make: { try TrimPoint($0) })
        if let fits { return fits }
        return try database.first(
            """
            SELECT number, version, bytes FROM snapshots WHERE session = ?
            ORDER BY version DESC, number DESC LIMIT 1
            """, .integer(row), make: { try TrimPoint($0) })
    }

    /// Trims a session up to a snapshot.
    ///
    /// Invariant: records are trimmed up to a snapshot, to rebuild every kept version, and never
    /// past the newest one. The kept history starts there even before the last row is removed.
    private func trim(
        _ row: Int64, newest: UInt64, beyondBytes: Int = 0, _ limit: Int, _ database: Database
    ) throws -> (removed: Int, isDone: Bool, keptAfter: UInt64, keptAfterBytes: Int) {
        let beyond = newest - min(newest, UInt64(retention.records))
        let aged = try database.first(
            """
            SELECT number, version, bytes FROM snapshots
            WHERE session = ? AND (number <= ? OR time < ?)
            ORDER BY version DESC, number DESC LIMIT 1
            """, .integer(row), .number(beyond), .integer(now() - retention.age),
            make: { try TrimPoint($0) })
        let large = try self.cut(row, beyondBytes: beyondBytes, database)
        let cut = [aged, large].compactMap(\.self).max { $0.number < $1.number } ?? TrimPoint()
        guard cut.number > 0 else { return (0, true, 0, 0) }
        try database.run(
            """
            UPDATE sessions SET kept_after = ?, kept_version = ?
            WHERE row = ? AND kept_after < ?
            """, .number(cut.number), .number(cut.version), .integer(row), .number(cut.number))
        let old = try removeSnapshots(of: row, before: cut, limit, database)
        guard old.isDone, old.cost < limit else { return (old.cost, false, cut.number, cut.bytes) }
        // The newest record always stays: it is the session's head.
        let last = min(cut.number, max(newest, 1) - 1)
        let records = try removeRecords(
            of: row, through: last, cost: Self.rowsPerRemoval, limit - old.cost, database)
        return (old.cost + records.cost, records.isDone, cut.number, cut.bytes)
    }
}
