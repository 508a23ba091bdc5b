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
        /// Whether no node has connected to it before.
        var isNew = false
    }

    /// Begins another era if the database has another timeline, is a copy on another system, was restored
    /// from a dump, or lacks what this process has seen in it.
    ///
    /// - Parameters:
    ///   - known: The database of the last connection; nil before the first.
    ///   - willBegin: Called before the commit of another era: other connections may show either
    ///     era from then on.
    func bringUpToDate(
        with found: Connector.Database, after known: Connector.Database?, willBegin: () -> Void
    ) throws(PostgresFault) -> Adoption {
        let limit = Duration.seconds(60)
        try connection.execute("BEGIN", within: limit)
        let rows = try connection.run(
            """
            SELECT era, timeline, system, is_synchronous, branch, table_oid FROM cluster FOR UPDATE
            """, within: limit)
        let (timeline, system) = (rows.text(0, 1), rows.text(0, 2))
        var adoption = Adoption(era: rows.integer(0, 0, in: Self.range), branch: rows.integer(0, 4))
        let era = adoption.era
        // Tables of an earlier version do not say which table they are.
        let isRestored = ![0, found.table].contains(rows.integer(0, 5))
        let isNew = timeline.isEmpty
        let isSame = timeline == found.timeline && system == found.system
        let wasSynchronous = rows.bool(0, 3)
        let lacks = known.map { found.lacks($0) || era < $0.era } ?? false
        // Of two standbys that were promoted to one timeline this process has used the other one:
        // what was acknowledged there is not here, and its positions may be used again.
        let isSibling =
            known.map {
                ($0.era, $0.timeline) == (era, found.timeline) && $0.branch != 0
                    && $0.branch != adoption.branch
            } ?? false
        let isKnown = adoption.branch != 0 && rows.integer(0, 5) == found.table
        guard !isSame || !isKnown || wasSynchronous != found.isSynchronous || lacks || isSibling
        else {
            try connection.execute("ROLLBACK", within: limit)
            return adoption
        }
        let isOther =
            !isNew && !isSame && mayHaveLost(wasSynchronous, isSameSystem: system == found.system)
        let begins =
            isOther || isRestored || (lacks || isSibling) && address.failover != .safe
        if begins {
            adoption.era = max(era, known?.era ?? 0) + 1
            willBegin()
            try connection.execute(
                """
                UPDATE sessions SET generation =
                    substr(md5(random()::text || clock_timestamp()::text || id), 1, 8)
                WHERE deleted IS NULL
                """, within: .seconds(3_600))
        }
        if !isSame, !isNew { try moveBeats(within: limit) }
        adoption.isNew = !isSame && !isNew || begins
        if adoption.isNew || adoption.branch == 0 { adoption.branch = .random(in: 1 ... .max) }
        var parameters = Parameters()
        parameters.add(adoption.era)
        parameters.add(found.timeline)
        parameters.add(found.system)
        parameters.add(found.isSynchronous ? 1 as Int64 : 0)
        parameters.add(adoption.branch)
        parameters.add(found.table)
        parameters.add(adoption.isNew ? 1 as Int64 : 0)
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

    /// The beats are of the clock of another server, which may be any time ahead or behind. The newest one was
    /// a moment before that server was left, so all of them are moved until it is of now.
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
