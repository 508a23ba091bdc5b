package import Storage

/// The contents of a journal, as they are at one moment, while servers may be using it.
package final class PostgresContents {
    private let connection: Connection

    package init(_ address: PostgresAddress) throws(JournalFailure) {
        do throws(PostgresFault) {
            connection = try Connector(address).open()
            try connection.execute(
                "SET client_encoding = 'UTF8'; SET client_min_messages = error; SET jit = off",
                within: SessionRow.limit)
            let exists = try connection.run(
                "SELECT to_regclass('\(address.schema).cluster') IS NOT NULL",
                within: SessionRow.limit
            ).bool(0, 0)
            guard exists else {
                throw PostgresFault(
                    message: "there is no journal in the schema \(address.schema)", isBroken: false)
            }
            try connection.execute("SET search_path = \(address.schema)", within: SessionRow.limit)
            let version = try connection.run(
                "SELECT version FROM cluster", within: SessionRow.limit
            )
            .integer(0, 0)
            guard version == Schema.version else {
                throw PostgresFault(
                    message: "the tables have version \(version), and this program knows "
                        + "\(Schema.version): journal prepare brings older ones up to date",
                    isBroken: false)
            }
        } catch {
            throw JournalFailure(error)
        }
    }

    /// Makes the tables, or brings them up to date.
    ///
    /// - Parameter isRestored: Whether the database was restored from a backup: the next connection
    ///   of a server begins another era.
    package static func prepare(
        _ address: PostgresAddress, isRestored: Bool = false
    ) throws(JournalFailure) {
        do throws(PostgresFault) {
            let connection = try PostgresJournal.prepare(address)
            guard isRestored else { return }
            try UsageLock(schema: address.schema, server: UsageLock.newNumber())
                .acquire(connection)
            try connection.execute(
                "UPDATE \(address.schema).cluster SET table_oid = \(Schema.restoredTable)",
                within: Connector.limit)
        } catch {
            throw JournalFailure(error)
        }
    }

    package func visit(_ visitor: any JournalVisitor) throws {
        do {
            try connection.atOneMoment { try visitAll(visitor) }
        } catch let fault as PostgresFault {
            throw JournalFailure(fault)
        }
    }

    private func visitAll(_ visitor: any JournalVisitor) throws {
        var after = ""
        while true {
            let found = try connection.run(
                """
                SELECT \(SessionRow.columns) FROM (
                    SELECT * FROM sessions WHERE id > $1 AND deleted IS NULL ORDER BY id LIMIT 100) s
                \(SessionRow.newest) ORDER BY s.id
                """, [after], within: Self.limit)
            guard found.count > 0 else { break }
            for index in 0..<found.count {
                let stored = SessionRow(found, index)
                try visit(stored, visitor)
                after = stored.key.session
            }
        }
        let tombstones = try connection.run(
            """
            SELECT id, generation, reactor, deleted FROM sessions WHERE deleted IS NOT NULL
            ORDER BY deleted, session
            """, within: Self.limit)
        for index in 0..<tombstones.count {
            let key = SessionKey(
                session: tombstones.text(index, 0), generation: tombstones.text(index, 1))
            try visitor.visit(
                SavedHead(key: key, reactor: tombstones.text(index, 2), isDeleted: true),
                deleted: tombstones.integer(index, 3))
        }
    }

    private static let limit = Duration.seconds(600)

    private func visit(_ stored: SessionRow, _ visitor: any JournalVisitor) throws {
        var head = stored.head
        head.creation.input = try stored.rest(connection).input
        try visitor.visit(head, created: stored.created)
        // The newest record is always kept: it is the session's head.
        let first = min(stored.keptAfter + 1, stored.end.number)
        let start = stored.keptAfter > 0 ? HistoryPosition(first - 1) : nil
        try stored.each(after: start, through: .max, connection) { record in
            try visitor.visit(record)
            return true
        }
        for snapshot in try stored.snapshots(connection) { try visitor.visit(snapshot) }
        for answer in try stored.answers(connection) { try visitor.visit(answer) }
        for action in try stored.running(connection) { try visitor.visit(action) }
        for timer in try stored.timers(connection) { try visitor.visit(timer) }
        if let tags = try stored.rest(connection).tags { try visitor.visit(tags) }
    }

    /// A sentence for each row that no session has, and for each that does not continue the one
    /// before it; the first hundred of each kind.
    package func rowProblems() throws(JournalFailure) -> [String] {
        var problems: [String] = []
        do throws(PostgresFault) {
            for table in ["runs", "snapshots", "answers", "running", "timers", "tags"] {
                let lost = try connection.run(
                    """
                    SELECT count(*) FROM \(table) t
                    WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session = t.session)
                        AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.session = t.session)
                    """, within: Self.limit
                ).integer(0, 0)
                if lost > 0 { problems.append("\(table): \(lost) rows belong to no session") }
            }
            let broken = try connection.run(
                """
                SELECT s.id, s.generation, r.after_number FROM (
                    SELECT session, after_number, after_part,
                        lag(number) OVER w AS number, lag(part) OVER w AS part
                    FROM runs WINDOW w AS (PARTITION BY session ORDER BY after_number, after_part)) r
                JOIN sessions s ON s.session = r.session AND s.deleted IS NULL
                WHERE (r.number, r.part) <> (r.after_number, r.after_part) LIMIT 100
                """, within: Self.limit)
            for index in 0..<broken.count {
                problems.append(
                    "session \(broken.text(index, 0)) \(broken.text(index, 1)): the row after "
                        + "\(broken.integer(index, 2)) does not continue the one before it")
            }
        } catch {
            throw JournalFailure(error)
        }
        return problems
    }
}

extension PostgresAddress {
    init(journal text: String) throws(JournalFailure) {
        do throws(Fault) {
            try self.init(text)
        } catch {
            throw JournalFailure(reason: .unavailable, detail: error.description)
        }
    }
}
