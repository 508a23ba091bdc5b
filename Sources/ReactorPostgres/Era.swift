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

    /// Begins another era if the database has another timeline, is a copy on another system, or lacks
    /// what this process has seen in it.
    ///
    /// - Parameters:
    ///   - known: The database of the last connection; nil before the first.
    ///   - willBegin: Called before the commit of another era: what other connections show from then on
    ///     may be of either.
    /// - Returns: the present era.
    func bringUpToDate(
        with found: Connector.Database, after known: Connector.Database?, willBegin: () -> Void
    ) throws(PostgresFault) -> Int64 {
        let limit = Duration.seconds(60)
        try connection.execute("BEGIN", within: limit)
        let rows = try connection.run(
            "SELECT era, timeline, system, is_synchronous FROM cluster FOR UPDATE", within: limit)
        let (timeline, system) = (rows.text(0, 1), rows.text(0, 2))
        var era = rows.integer(0, 0, in: Self.range)
        let isNew = timeline.isEmpty
        let isSame = timeline == found.timeline && system == found.system
        let wasSynchronous = rows.bool(0, 3)
        let lacks = known.map { found.lacks($0) || era < $0.era } ?? false
        guard !isSame || wasSynchronous != found.isSynchronous || lacks else {
            try connection.execute("ROLLBACK", within: limit)
            return era
        }
        let isOther =
            !isNew && !isSame && mayHaveLost(wasSynchronous, isSameSystem: system == found.system)
        if isOther || lacks && address.failover != .safe {
            era = max(era, known?.era ?? 0) + 1
            willBegin()
            try connection.execute(
                """
                UPDATE sessions SET generation =
                    substr(md5(random()::text || clock_timestamp()::text || id), 1, 8)
                WHERE deleted IS NULL
                """, within: .seconds(600))
        }
        if !isSame, !isNew { try moveBeats(within: limit) }
        var parameters = Parameters()
        parameters.add(era)
        parameters.add(found.timeline)
        parameters.add(found.system)
        parameters.add(found.isSynchronous ? 1 as Int64 : 0)
        _ = try connection.run(
            """
            UPDATE cluster SET era = $1, timeline = $2, system = $3, is_synchronous = $4 = 1
            """, parameters, within: limit)
        try connection.execute("COMMIT", within: limit)
        try connection.refuseWarnings()
        return era
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
