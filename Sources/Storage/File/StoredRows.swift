internal import GRDB

/// A session's row in the file.
@dynamicMemberLookup
struct FileSessionRow {
    let row: Int64
    /// Without its end, which the records have.
    let head: SavedHead

    subscript<Value>(dynamicMember path: KeyPath<SavedHead, Value>) -> Value { head[keyPath: path] }
}

extension FileSessionRow {
    /// Those that a page of sessions needs: damage to any other does not fail a page.
    static let pageColumns = "row, id, reactor, generation"
    private static let columns = "\(pageColumns), kept_after, kept_version, owner"

    init(ofPage found: FoundRow) {
        row = found.integer(0)
        head = SavedHead(
            key: SessionKey(session: found.string(1), generation: found.string(3)),
            reactor: found.string(2))
    }

    private init(_ found: FoundRow) throws(JournalFileFault) {
        var head = Self(ofPage: found).head
        head.keptAfter = try found.number(4)
        head.keptVersion = try found.number(5)
        head.owner = found.optionalString(6).map { ExactText($0) }
        self.init(row: found.integer(0), head: head)
    }

    /// Nil if there is no live session with this id.
    init?(_ session: String, in database: Database) throws {
        let found = try database.first(
            "SELECT \(Self.columns) FROM sessions WHERE id = ?", .string(session)
        ) { try FileSessionRow($0) }
        guard let found else { return nil }
        self = found
    }

    /// The input with which the session was created, which may be large; nil if it had none.
    func input(_ database: Database) throws -> [UInt8]? {
        try database.first(
            "SELECT input FROM sessions WHERE row = ? AND input IS NOT NULL", .integer(row)
        ) { $0.bytes(0) }
    }

    /// Nil if the session has another generation or does not exist.
    init?(_ key: SessionKey, in database: Database) throws {
        guard let stored = try FileSessionRow(key.session, in: database), stored.key == key else {
            return nil
        }
        self = stored
    }
}

extension HistoryEnd {
    init(of row: Int64, _ entry: TailIndex.Entry?, _ database: Database) throws {
        let moved = try Self.moved(of: row, database)
        if let entry, moved.map({ $0.position < entry.position }) ?? true {
            self.init(entry.position, version: entry.version)
        } else {
            self = moved ?? HistoryEnd()
        }
    }

    /// The end of the session's records outside the tail; nil if there are none.
    static func moved(of row: Int64, _ database: Database) throws -> HistoryEnd? {
        return try database.first(
            """
            SELECT number, part, version FROM records WHERE session = ?
            ORDER BY number DESC, part DESC LIMIT 1
            """, .integer(row)
        ) { row in
            HistoryEnd(
                try HistoryPosition(column: row.number(0), part: row.integer(1)),
                version: try row.number(2))
        }
    }
}

extension HistoryPosition {
    /// The value of the column `part`, whose order is that of the events.
    var storedPart: Int64 { part == 0 ? JournalSchema.recordPart : Int64(part) }

    /// - Throws: ``JournalFileFault``: another program has written an invalid part.
    init(column number: UInt64, part: Int64) throws(JournalFileFault) {
        let note = part == JournalSchema.recordPart ? 0 : UInt32(exactly: part)
        guard let note, part > 0, let position = Self(stored: number, part: note) else {
            throw .unusable("a record has the invalid part \(part)")
        }
        self = position
    }
}

extension HistoryEntry {
    /// The approximate size in memory and on a wire.
    package var storedBytes: Int {
        events.reduce(content.count + Self.leastStoredBytes) {
            $0 + $1.data.count + $1.name.utf8.count
        }
    }

    static let leastStoredBytes = 64
}

extension Snapshot {
    /// The newest snapshot at or before `version`.
    static func read(
        of stored: FileSessionRow, at version: UInt64, from database: Database
    ) throws -> Snapshot? {
        return try database.first(
            """
            SELECT number, version, last_action, state_version, time, state, listens
            FROM snapshots WHERE session = ? AND version <= ?
            ORDER BY version DESC, number DESC LIMIT 1
            """, .integer(stored.row), .integer(Int64(clamping: version))
        ) {
            try Snapshot($0, of: stored.key)
        }
    }

    init(_ row: FoundRow, of key: SessionKey) throws(JournalFileFault) {
        self.init(
            session: key.session, generation: key.generation, number: try row.number(0),
            version: try row.number(1), lastAction: try row.number(2),
            stateVersion: Int(row.integer(3)), state: row.bytes(5), time: row.integer(4),
            listens: row.integer(6) != 0)
    }
}

extension StoredAnswer {
    init(_ row: FoundRow, of key: SessionKey) {
        self.init(
            session: key.session, generation: key.generation, key: row.string(0),
            bodyDigest: row.bytes(1), status: Int(row.integer(2)), body: row.bytes(4),
            time: row.integer(3))
    }
}

extension SessionTimer {
    static func all(of stored: FileSessionRow, from database: Database) throws -> [SessionTimer] {
        var found: [SessionTimer] = []
        try database.each(
            "SELECT name, number, due, content, begun FROM timers WHERE session = ? AND name > ''",
            .integer(stored.row)
        ) { row in
            found.append(
                SessionTimer(
                    name: ExactText(row.string(0)), number: try row.number(1),
                    due: row.integer(2), content: row.bytes(3), begun: Int(clamping: row.integer(4))
                ))
        }
        return found.sorted()
    }
}

extension RunningAction {
    static func all(of stored: FileSessionRow, from database: Database) throws -> [RunningAction] {
        var found: [RunningAction] = []
        try database.each(
            """
            SELECT action, content, begun, subject, attempt, max(0, due - \(JournalSchema.now)),
                step
            FROM running WHERE session = ?
            ORDER BY action
            """, .integer(stored.row)
        ) { row in
            found.append(
                RunningAction(
                    session: stored.key.session, generation: stored.key.generation,
                    action: try row.number(0), content: row.bytes(1),
                    subject: row.optionalString(3), begun: Int(clamping: row.integer(2)),
                    attempt: Int(clamping: row.integer(4)), wait: row.optionalInteger(5),
                    step: row.optionalString(6)))
        }
        return found
    }
}
