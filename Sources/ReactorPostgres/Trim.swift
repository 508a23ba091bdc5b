internal import Storage

/// Trims one session to the limits of retention, up to a snapshot.
///
/// Invariant: the newest snapshot and run stay, and every kept version can be rebuilt: the kept
/// history starts at the snapshot even before the last row is removed.
struct Trim {
    let stored: SessionRow
    let retention: JournalRetention
    let now: Int64

    private struct TrimPoint {
        var number: Int64 = 0
        var version: Int64 = 0
    }

    /// - Returns: whether nothing is left to remove.
    func run(_ connection: Connection) throws(PostgresFault) -> Bool {
        try weigh(connection)
        let cuts = [try cutByAge(connection), try cutByBytes(connection)]
        // An earlier step may have moved the start of the kept history, and left rows.
        let kept = TrimPoint(
            number: Int64(clamping: stored.keptAfter), version: Int64(clamping: stored.keptVersion))
        let cut = cuts.compactMap(\.self).reduce(kept) { $0.number < $1.number ? $1 : $0 }
        guard cut.number > 0 else { return true }
        let moved = try connection.run(
            """
            UPDATE sessions SET kept_number = $2, kept_version = $3
            WHERE session = $1 AND kept_number < $2
            """, [stored.row, cut.number, cut.version], within: SessionRow.limit
        ).changed
        if moved > 0 {
            _ = try connection.run(
                "DELETE FROM snapshots WHERE session = $1 AND version <= $3 AND number < $2",
                [stored.row, cut.number, cut.version], within: SessionRow.limit)
        }
        // A row that begins before the cut and continues after it stays whole.
        let last = min(cut.number, Int64(clamping: max(stored.end.number, 1)) - 1)
        return try !Self.removal.run(connection, retention, stored.row, last)
    }

    static let removal = RowRemoval(
        "runs", content: "lines",
        where: "session = $3 AND after_number <= $4 AND number <= $4",
        order: "after_number, after_part")

    /// The newest snapshot before which everything is too old, or too far back.
    private func cutByAge(_ connection: Connection) throws(PostgresFault) -> TrimPoint? {
        let newest = Int64(clamping: stored.end.number)
        let lastCut = newest - min(newest, Int64(retention.records))
        return try cut(
            """
            SELECT number, version FROM snapshots
            WHERE session = $1 AND (number <= $2 OR time < $3)
            ORDER BY version DESC, number DESC LIMIT 1
            """, [stored.row, lastCut, now - retention.age], connection)
    }

    /// The oldest snapshot whose later data are within the limit, or else the newest.
    private func cutByBytes(_ connection: Connection) throws(PostgresFault) -> TrimPoint? {
        let found = try connection.run(
            """
            SELECT coalesce(max(s.bytes), 0), coalesce(min(s.bytes), 0), (
                SELECT coalesce(sum(octet_length(lines)), 0)::bigint FROM runs
                WHERE session = $1 AND after_number >= coalesce(max(s.number), -1))
            FROM snapshots s WHERE s.session = $1
            """, [stored.row], within: SessionRow.limit)
        func bytes(_ column: Int) -> Int64 { found.integer(0, column, in: 0...(1 << 60)) }
        let all = bytes(0) + bytes(2)
        let trimmed = stored.keptAfter > 0 ? bytes(1) : 0
        let limit = Int64(retention.bytes)
        guard all - trimmed > limit + limit / 8 else { return nil }
        let fits = try cut(
            """
            SELECT number, version FROM snapshots WHERE session = $1 AND bytes >= $2
            ORDER BY version, number LIMIT 1
            """, [stored.row, all - limit], connection)
        if let fits { return fits }
        return try cut(
            """
            SELECT number, version FROM snapshots WHERE session = $1
            ORDER BY version DESC, number DESC LIMIT 1
            """, [stored.row], connection)
    }

    private func cut(
        _ sql: String, _ parameters: Parameters, _ connection: Connection
    ) throws(PostgresFault) -> TrimPoint? {
        let found = try connection.run(sql, parameters, within: SessionRow.limit)
        guard found.count > 0 else { return nil }
        return TrimPoint(number: found.integer(0, 0), version: found.integer(0, 1))
    }

    /// Counts the bytes up to each new snapshot, including its own.
    private func weigh(_ connection: Connection) throws(PostgresFault) {
        let found = try connection.run(
            """
            SELECT version, number FROM snapshots WHERE session = $1 AND bytes IS NULL
            ORDER BY version, number LIMIT 64
            """, [stored.row], within: SessionRow.limit)
        for index in 0..<found.count {
            _ = try connection.run(
                Self.weighing, [stored.row, found.integer(index, 0), found.integer(index, 1)],
                within: SessionRow.limit)
        }
    }

    static let weighing = """
        UPDATE snapshots s SET bytes = octet_length(s.state) + coalesce(b.bytes, 0) + (
            SELECT coalesce(sum(octet_length(lines)), 0)::bigint FROM runs
            WHERE session = $1 AND after_number >= coalesce(b.number, -1)
                AND after_number < $3)
        FROM (SELECT 1) one LEFT JOIN LATERAL (
            SELECT bytes, number FROM snapshots
            WHERE session = $1 AND (version, number) < ($2, $3)
            ORDER BY version DESC, number DESC LIMIT 1) b ON true
        WHERE s.session = $1 AND s.version = $2 AND s.number = $3
        """
}
