internal import Cluster
internal import Storage

/// The newest generation of a session, as the tables have it.
struct SessionRow {
    let row: Int64
    let key: SessionKey
    let reactor: String
    let created: Int64
    let owner: ExactText?
    let isDeleted: Bool
    let end: HistoryEnd
    let keptAfter: UInt64
    let keptVersion: UInt64
    let node: Node?
    let epoch: Int64

    static let limit = Duration.seconds(10)

    static let columns = """
        s.session, s.generation, s.reactor, s.owner, s.deleted IS NOT NULL, s.kept_number,
        s.kept_version, r.number, r.part, r.version, s.id, s.created, s.node,
        s.epoch
        """

    static let newest = """
        LEFT JOIN LATERAL (
            SELECT number, part, version FROM runs WHERE session = s.session
            ORDER BY after_number DESC, after_part DESC LIMIT 1) r ON true
        """

    init(_ found: Rows, _ index: Int) {
        row = found.integer(index, 0)
        key = SessionKey(session: found.text(index, 10), generation: found.text(index, 1))
        reactor = found.text(index, 2)
        owner = found.optionalText(index, 3).map { ExactText($0) }
        isDeleted = found.bool(index, 4)
        keptAfter = found.number(index, 5)
        keptVersion = found.number(index, 6)
        created = found.integer(index, 11)
        node = found.node(index, 12)
        epoch = found.integer(index, 13)
        // A deleted session may have no rows any more.
        guard !found.isNull(index, 7) else {
            end = HistoryEnd()
            return
        }
        let position = HistoryPosition(column: found.integer(index, 7), found.integer(index, 8))
        end = HistoryEnd(position, version: found.number(index, 9))
    }

    /// Nil if there never was a session with this id, or it is forgotten.
    static func find(_ id: String, _ connection: Connection) throws(PostgresFault) -> SessionRow? {
        let found = try connection.run(byID, [id], within: limit)
        guard found.count > 0, !found.bool(0, isStandby) else { throw .standby }
        return found.isNull(0, 0) ? nil : SessionRow(found, 0)
    }

    /// The column after ``columns``.
    private static let isStandby = afterColumns
    static let afterColumns = 14

    /// Returns one row even if there is no session, because the row also says which server it is
    /// from.
    static let byID = """
        SELECT \(columns), pg_is_in_recovery()
        FROM (SELECT $1::text AS id) t LEFT JOIN sessions s ON s.id = t.id \(newest)
        """

    /// Nil if the session has another generation, or if `isEnded` does not match whether it has
    /// ended.
    static func find(
        _ key: SessionKey, isEnded: Bool, _ connection: Connection
    ) throws(PostgresFault) -> SessionRow? {
        guard let stored = try find(key.session, connection), stored.key == key,
            stored.isDeleted == isEnded
        else { return nil }
        return stored
    }

    var head: SavedHead {
        var head = SavedHead(key: key, reactor: reactor, isDeleted: isDeleted)
        guard !isDeleted else { return head }
        head.owner = owner
        head.end = end
        head.keptAfter = keptAfter
        head.keptVersion = keptVersion
        return head
    }

    // MARK: Loading

    func load(_ connection: Connection) throws -> SavedSession {
        var saved = SavedSession(head)
        guard !isDeleted else { return saved }
        saved.epoch = node == nil ? 0 : epoch
        saved.ownership = SavedOwnership(owner: node, epoch: epoch)
        try saved.load(snapshot(at: .max, connection), running: running(connection)) {
            start, show in
            try each(after: start, through: .max, connection) { record in
                show(record)
                return true
            }
        }
        saved.timers = try timers(connection)
        let rest = try rest(connection)
        (saved.head.creation.input, saved.hasStoredAnswers) = (rest.input, rest.hasAnswers)
        saved.head.tags = rest.tags
        return saved
    }

    struct Rest {
        /// The input with which the session was created.
        let input: [UInt8]?
        /// Whether there is any stored answer.
        let hasAnswers: Bool
        let tags: SessionTags?
    }

    func rest(_ connection: Connection) throws(PostgresFault) -> Rest {
        let found = try connection.run(Self.restOfSession, [row], within: Self.limit)
        guard found.count > 0, !found.bool(0, 2) else { throw .standby }
        return Rest(
            input: found.isNull(0, 0) ? nil : found.bytes(0, 0), hasAnswers: found.bool(0, 1),
            tags: found.tags(0, 3))
    }

    /// One row, like ``byID``.
    static let restOfSession = """
        SELECT s.input, EXISTS (SELECT 1 FROM answers WHERE session = $1), pg_is_in_recovery(),
            g.tags, g.changed
        FROM (SELECT 1) one LEFT JOIN sessions s ON s.session = $1 \(tags)
        """

    func snapshot(at version: UInt64, _ connection: Connection) throws(PostgresFault) -> Snapshot? {
        let found = try connection.run(Self.snapshotAt, [row, version], within: Self.limit)
        guard found.count > 0, !found.bool(0, 7) else { throw .standby }
        return found.isNull(0, 0) ? nil : snapshot(found, 0)
    }

    static let snapshotAt = newestSnapshot(
        "number, version, last_action, state_version, time, state, listens")

    /// One row, like ``byID``, because a pooler may change the server between two statements.
    private static func newestSnapshot(_ columns: String) -> String {
        """
        SELECT s.*, pg_is_in_recovery() FROM (SELECT 1) one LEFT JOIN LATERAL (
            SELECT \(columns) FROM snapshots
            WHERE session = $1 AND version <= $2
            ORDER BY version DESC, number DESC LIMIT 1) s ON true
        """
    }

    /// Does not read the state, which may be large.
    func stateVersion(at version: UInt64, _ connection: Connection) throws(PostgresFault) -> Int? {
        let found = try connection.run(Self.stateVersionAt, [row, version], within: Self.limit)
        guard found.count > 0, !found.bool(0, 1) else { throw .standby }
        return found.isNull(0, 0) ? nil : Int(found.integer(0, 0))
    }

    static let stateVersionAt = newestSnapshot("state_version")

    func snapshots(_ connection: Connection) throws(PostgresFault) -> [Snapshot] {
        let found = try connection.run(
            """
            SELECT number, version, last_action, state_version, time, state, listens FROM snapshots
            WHERE session = $1 ORDER BY version, number
            """, [row], within: Self.limit)
        return (0..<found.count).map { snapshot(found, $0) }
    }

    private func snapshot(_ found: Rows, _ index: Int) -> Snapshot {
        Snapshot(
            session: key.session, generation: key.generation, number: found.number(index, 0),
            version: found.number(index, 1), lastAction: found.number(index, 2),
            stateVersion: Int(found.integer(index, 3)), state: found.bytes(index, 5),
            time: found.integer(index, 4), listens: found.bool(index, 6))
    }

    func answers(_ connection: Connection) throws(PostgresFault) -> [StoredAnswer] {
        let found = try connection.run(
            "SELECT key, digest, status, time, body FROM answers WHERE session = $1 ORDER BY key",
            [row], within: Self.limit)
        return (0..<found.count).map { index in
            StoredAnswer(
                session: key.session, generation: key.generation, key: found.text(index, 0),
                bodyDigest: found.bytes(index, 1), status: found.status(index, 2),
                body: found.bytes(index, 4), time: found.integer(index, 3))
        }
    }

    func running(_ connection: Connection) throws(PostgresFault) -> [RunningAction] {
        let found = try connection.run(Self.runningActions, [row], within: Self.limit)
        return (0..<found.count).map { index in
            RunningAction(
                session: key.session, generation: key.generation, action: found.number(index, 0),
                content: found.bytes(index, 1), subject: found.optionalText(index, 3),
                begun: found.begun(index, 2), attempt: Int(found.integer(index, 4)),
                wait: found.isNull(index, 5) ? nil : found.integer(index, 5),
                step: found.optionalText(index, 6))
        }
    }

    static let runningActions = """
        SELECT action, content, begun, subject, attempt,
            CASE WHEN due IS NOT NULL THEN greatest(0, due - \(Schema.now)) END, step
        FROM running WHERE session = $1 ORDER BY action
        """

    func timers(_ connection: Connection) throws(PostgresFault) -> [SessionTimer] {
        let found = try connection.run(Self.timers, [row], within: Self.limit)
        return (0..<found.count).map { index in
            SessionTimer(
                name: ExactText(found.text(index, 0)), number: found.number(index, 1),
                due: found.integer(index, 2), content: found.bytes(index, 3),
                begun: Int(clamping: found.integer(index, 4)))
        }.sorted()
    }

    static let timers =
        "SELECT name, number, due, content, begun FROM timers WHERE session = $1 AND name > ''"

    // MARK: Records

    /// Calls `act` with the entries after a position, in order, until it returns false. It begins
    /// with the last run that continues this position or an earlier one: a run may end after it.
    ///
    /// - Parameter start: nil to begin before the first entry, which may be the creation.
    func each(
        after start: HistoryPosition?, through last: UInt64, _ connection: Connection,
        _ act: (HistoryEntry) throws -> Bool
    ) throws {
        var from = start?.column ?? Schema.beginning
        var statement = Self.firstSlice
        while true {
            // A large record has a row of its own, which continues the last of its notes.
            let found = try connection.run(
                statement, [row, from.number, from.part, last, Schema.recordPart],
                within: Self.limit)
            guard found.count > 0, !found.bool(0, Self.isSliceOfStandby) else {
                throw PostgresFault.standby
            }
            // The next rows may be trimmed between two statements.
            guard !found.isNull(0, 0), statement == Self.firstSlice || found.continues(from) else {
                return
            }
            for index in 0..<found.count {
                let continues = try HistoryCodec.decode(found.bytes(index, 2), of: key, reactor) {
                    record in
                    if let start, record.position <= start { return true }
                    return try record.number <= last && act(record)
                }
                guard continues else { return }
            }
            guard found.count == Self.sliceRows else { return }
            from = (found.integer(found.count - 1, 0), found.integer(found.count - 1, 1))
            statement = Self.nextSlice
        }
    }

    private static let sliceRows = 64
    /// The column after those of a run.
    private static let isSliceOfStandby = 5

    /// At least one row, like ``byID``.
    static let firstSlice = """
        SELECT r.number, r.part, r.lines, r.after_number, r.after_part, pg_is_in_recovery() FROM (
            SELECT coalesce(f.after_number, -1) AS an, coalesce(f.after_part, 0) AS ap
            FROM (SELECT 1) one LEFT JOIN LATERAL (
                SELECT after_number, after_part FROM runs
                WHERE session = $1 AND (after_number, after_part) <= ($2, $3)
                ORDER BY after_number DESC, after_part DESC LIMIT 1) f ON true) b
        LEFT JOIN LATERAL (
            SELECT number, part, lines, after_number, after_part FROM runs
            WHERE session = $1 AND (after_number, after_part) >= (b.an, b.ap)
                AND (after_number, after_part) < ($4, $5)
            ORDER BY after_number, after_part LIMIT \(sliceRows)) r ON true
        """

    static let nextSlice = """
        SELECT r.*, pg_is_in_recovery() FROM (SELECT 1) one LEFT JOIN LATERAL (
            SELECT number, part, lines, after_number, after_part FROM runs WHERE session = $1
                AND (after_number, after_part) >= ($2, $3)
                AND (after_number, after_part) < ($4, $5)
            ORDER BY after_number, after_part LIMIT \(sliceRows)) r ON true
        """
}

extension Rows {
    /// Whether the first row of a slice continues a position.
    fileprivate func continues(_ from: (number: Int64, part: Int64)) -> Bool {
        (integer(0, 3), integer(0, 4)) == (from.number, from.part)
    }
}
