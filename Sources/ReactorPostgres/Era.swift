internal import Cluster

/// The eras of a journal: another begins when acknowledged records may have been lost, and every
/// session then gets another generation, so that no id has two contents.
struct Era {
    /// Of the numbers of eras. No database reaches the end of it.
    static let range = 0...(1 << 62) as ClosedRange<Int64>

    private let address: PostgresAddress
    private let connection: Connection

    init(_ address: PostgresAddress, _ connection: Connection) {
        self.address = address
        self.connection = connection
    }

    /// The history of a database, as the nodes know it.
    struct Adoption {
        var era: Int64
        var branch: Int64
        var lineage = Lineage()
        /// Whether no node has connected to it before.
        var isNew = false
    }

    /// The histories that this process knows.
    struct Earlier {
        /// The database of the last connection; nil before the first.
        var database: Connector.Database?
        /// How far the log of ``database`` is acknowledged, in bytes.
        var committed: Int64 = 0
        /// The last commits that this process has acknowledged there.
        var commits: [CommitPoint] = []
        var others: [DatabaseStanding] = []

        var standings: [DatabaseStanding] {
            others + (database.map { [DatabaseStanding($0.mark, committed: committed)] } ?? [])
        }
    }

    /// Begins another era if the database has another timeline, is a copy on another system, was
    /// restored, or lacks what this process or another node has seen acknowledged.
    ///
    /// - Parameter willBegin: Called before another era is committed: connections may show either.
    func bringUpToDate(
        with found: Connector.Database, after earlier: Earlier, willBegin: () -> Void
    ) throws(PostgresFault) -> Adoption {
        let limit = Duration.seconds(60)
        try connection.execute("BEGIN", within: limit)
        let rows = try connection.run(
            """
            SELECT era, timeline, system, is_synchronous, branch, table_oid FROM cluster FOR UPDATE
            """, within: limit)
        let (timeline, system) = (rows.text(0, 1), rows.text(0, 2))
        var adoption = Adoption(era: rows.integer(0, 0, in: Self.range), branch: rows.integer(0, 4))
        let (era, branch) = (adoption.era, adoption.branch)
        let isNew = timeline.isEmpty
        let isSame = timeline == found.timeline && system == found.system
        // Tables of an earlier version do not say which table they are.
        let isRestored =
            ![0, found.table].contains(rows.integer(0, 5))
            || !isNew && !isSame && found.hasRecoveryTarget
        let wasSynchronous = rows.bool(0, 3)
        let known = earlier.database
        let lacks = known.map { found.lacks($0) || era < $0.era } ?? false
        adoption.lineage = try lineage(within: limit)
        let left = isSame || isNew || branch == 0 ? nil : branch
        // A log of another system has other positions.
        let end = system == found.system ? found.promoted : .max
        if let left { adoption.lineage.ends[left] = end }
        var own = found.mark
        (own.era, own.branch) = (era, isSame ? branch : 0)
        var diverges = earlier.standings.contains { adoption.lineage.lacks($0, as: own) }
        if let left, left == known?.branch, end != .max {
            diverges = try hasLost(earlier.commits, within: limit) || diverges
        }
        let isKnown = branch != 0 && rows.integer(0, 5) == found.table
        guard !isSame || !isKnown || wasSynchronous != found.isSynchronous || lacks || diverges
        else {
            try connection.execute("ROLLBACK", within: limit)
            return adoption
        }
        let isOther =
            !isNew && !isSame && mayHaveLost(wasSynchronous, isSameSystem: system == found.system)
        let begins =
            isOther || isRestored || diverges || lacks && address.failover != .safe
        if begins {
            adoption.era = max(era, known?.era ?? 0) + 1
            adoption.lineage = Lineage()
            willBegin()
            try connection.execute(
                """
                DELETE FROM branches;
                UPDATE sessions SET generation =
                    substr(md5(random()::text || clock_timestamp()::text || id), 1, 8)
                WHERE deleted IS NULL
                """, within: .seconds(3_600))
        } else if let left {
            _ = try connection.run(
                "INSERT INTO branches(branch, ended) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                [left, end], within: limit)
        }
        if isRestored || !isNew && system != found.system {
            // The nodes in the tables may use the original. This one must not report the copy to
            // them; those that use the copy write their rows again.
            try connection.execute("DELETE FROM nodes", within: limit)
        } else if !isSame, !isNew {
            try moveBeats(within: limit)
        }
        adoption.isNew = !isSame && !isNew || begins
        if adoption.isNew || adoption.branch == 0 { adoption.branch = .random(in: 1 ... .max) }
        let parameters: Parameters = [
            adoption.era, found.timeline, found.system, found.isSynchronous ? 1 : 0,
            adoption.branch, found.table, adoption.isNew ? 1 : 0,
        ]
        _ = try connection.run(
            """
            UPDATE cluster SET era = $1, timeline = $2, system = $3, is_synchronous = $4 = 1,
                branch = $5, table_oid = $6,
                adopted = CASE WHEN $7 = 1 THEN clock_timestamp() ELSE adopted END
            """, parameters, within: limit)
        try connection.execute("COMMIT", within: limit)
        try connection.refuseWarnings()
        return adoption
    }

    /// More branches than an era ever has. If one were missing, an era would begin without need.
    private static let branchLimit = 1_024

    private func lineage(within limit: Duration) throws(PostgresFault) -> Lineage {
        let found = try connection.run(
            "SELECT branch, ended FROM branches ORDER BY ended DESC LIMIT \(Self.branchLimit)",
            within: limit)
        return (0..<found.count).reduce(into: Lineage()) { lineage, row in
            lineage.ends[found.integer(row, 0)] = found.integer(row, 1)
        }
    }

    /// Whether a commit that the former primary acknowledged is missing here, although this server
    /// has replayed its rows. Later transaction numbers are this server's own.
    private func hasLost(
        _ commits: [CommitPoint], within limit: Duration
    ) throws(PostgresFault) -> Bool {
        let found = try connection.run(
            """
            SELECT coalesce(bool_or(
                CASE WHEN t.id >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN true
                    ELSE pg_xact_status(t.id::text::xid8) <> 'committed' END), false)
            FROM unnest($1::bigint[]) t(id)
            """, [commits.map(\.transaction)], within: limit)
        return found.bool(0, 0)
    }

    /// The times of the beats come from another server's clock. The nodes sent the newest beat just
    /// before they left that server. So all beats are shifted by the same time, and the newest
    /// becomes now.
    private func moveBeats(within limit: Duration) throws(PostgresFault) {
        try connection.execute(
            """
            UPDATE nodes n SET seen = n.seen + (clock_timestamp() - newest.seen)
            FROM (SELECT max(seen) AS seen FROM nodes WHERE isfinite(seen)) newest
            WHERE isfinite(n.seen)
            """, within: limit)
    }

    private func mayHaveLost(_ wasSynchronous: Bool, isSameSystem: Bool) -> Bool {
        switch address.failover {
        case .safe: false
        case .reset: true
        // A copy on another system was restored from a backup.
        case .auto: !(wasSynchronous && isSameSystem)
        }
    }
}
