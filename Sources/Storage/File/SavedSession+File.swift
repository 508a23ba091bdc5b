internal import GRDB

/// The newest record of a session, and what stands behind it.
struct NewestPlace {
    var number: UInt64 = 0
    var version: UInt64 = 0
    var notes: UInt32 = 0

    init(of row: Int64, in database: Database) throws {
        let newest = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT number, part, version FROM records WHERE session = ?
                    ORDER BY number DESC, part DESC LIMIT 1
                    """),
            arguments: [row])
        guard let newest else { return }
        let last: Int64 = newest[0]
        let part: Int64 = newest[1]
        let seen: Int64 = newest[2]
        let isRecord = part == JournalSchema.recordPart
        number = UInt64(isRecord ? last : last - 1)
        notes = isRecord ? 0 : UInt32(part)
        version = UInt64(seen)
    }
}

extension Snapshot {
    /// The newest at or before `version`.
    static func read(
        of key: SessionKey, _ row: Int64, at version: UInt64, from database: Database
    ) throws -> Snapshot? {
        let found = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT number, version, last_action, state_version, time, state
                    FROM snapshots WHERE session = ? AND version <= ?
                    ORDER BY version DESC, number DESC LIMIT 1
                    """),
            arguments: [row, Int64(clamping: version)])
        return found.map { found in
            let number: Int64 = found[0]
            let version: Int64 = found[1]
            let lastAction: Int64 = found[2]
            return Snapshot(
                session: key.session, generation: key.generation, number: UInt64(number),
                version: UInt64(version), lastAction: UInt64(bitPattern: lastAction),
                stateVersion: found[3], state: found.bytes(5), time: found[4])
        }
    }
}

extension SavedSession {
    static func read(_ session: String, from database: Database) throws -> SavedSession? {
        let found = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT row, reactor, generation, deleted, kept_after, kept_version
                    FROM sessions WHERE id = ?
                    """),
            arguments: [session])
        guard let found else { return nil }
        let row: Int64 = found[0]
        let key = SessionKey(session: session, generation: found[2])
        var saved = SavedSession(
            key: key, reactor: found[1], isDeleted: (found[3] as Int64?) != nil)
        guard !saved.isDeleted else { return saved }
        let place = try NewestPlace(of: row, in: database)
        saved.lastNumber = place.number
        saved.lastVersion = place.version
        saved.trailingNotes = place.notes
        let keptAfter: Int64 = found[4]
        let keptVersion: Int64 = found[5]
        saved.keptAfter = UInt64(keptAfter)
        saved.keptVersion = UInt64(keptVersion)
        saved.snapshot = try .read(of: key, row, at: UInt64(Int64.max), from: database)
        try saved.readMutations(row, database)
        try saved.readRunning(row, database)
        return saved
    }

    private mutating func readMutations(_ row: Int64, _ database: Database) throws {
        let from = snapshot?.number ?? 0
        lastAction = snapshot?.lastAction ?? 0
        let rows = try Row.fetchCursor(
            database.cachedStatement(
                sql: """
                    SELECT number, part, kind, version, action, time, content, NULL, traceparent
                    FROM records WHERE session = ? AND number > ? ORDER BY number, part
                    """),
            arguments: [row, Int64(from)])
        while let next = try rows.next() {
            let record = Record(next, of: key, reactor: reactor)
            lastAction = max(lastAction, record.action)
            if record.kind == .mutation { mutations.append(record) }
        }
    }

    private mutating func readRunning(_ row: Int64, _ database: Database) throws {
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: "SELECT action, content FROM running WHERE session = ? ORDER BY action"),
            arguments: [row])
        running = rows.map { found in
            let action: Int64 = found[0]
            return RunningAction(
                session: key.session, generation: key.generation,
                action: UInt64(bitPattern: action), content: found.bytes(1))
        }
        lastAction = max(lastAction, running.last?.action ?? 0)
        hasStoredAnswers =
            try Row.fetchOne(
                database.cachedStatement(sql: "SELECT 1 FROM answers WHERE session = ? LIMIT 1"),
                arguments: [row]) != nil
    }
}
