internal import GRDB

/// Whether a batch continues what the file has, as it is with the batches before it in its group.
struct BatchCheck {
    let known: SessionHeads
    /// What the batches before it, and this one, have moved on.
    private(set) var changed: [String: SessionHeads.Head]

    init(known: SessionHeads, changed: [String: SessionHeads.Head]) {
        self.known = known
        self.changed = changed
    }

    /// Nil if it does; then ``changed`` has moved on.
    mutating func refusal(of batch: Batch, in database: Database) throws -> JournalFailure? {
        for record in batch.records {
            guard let head = try head(after: record, in: database) else {
                return .gap("\(record.session) \(record.generation).\(record.number)")
            }
            changed[record.session] = head
        }
        let others =
            batch.snapshots.map { ($0.session, $0.generation) }
            + batch.answers.map { ($0.session, $0.generation) }
            + batch.started.map { ($0.session, $0.generation) }
            + batch.settled.map { ($0.session, $0.generation) }
        for (session, generation) in others {
            guard let head = try head(of: session, in: database), head.generation == generation
            else { return .gap("\(session) \(generation)") }
            changed[session] = head
        }
        return nil
    }

    private func head(
        after record: Record, in database: Database
    ) throws -> SessionHeads.Head? {
        let head = try head(of: record.session, in: database)
        if record.kind == .created {
            guard record.number == 0, record.part == 0, head?.isDeleted ?? true else { return nil }
            return SessionHeads.Head(
                row: 0, generation: record.generation, number: 0, notes: 0, isDeleted: false,
                kept: 0)
        }
        guard var head, head.generation == record.generation, !head.isDeleted,
            record.number == head.number + 1
        else { return nil }
        if record.part > 0 {
            guard record.part == head.notes + 1 else { return nil }
            head.notes = record.part
            return head
        }
        head.number = record.number
        head.notes = 0
        head.kept += 1
        head.isDeleted = record.kind == .deleted
        return head
    }

    private func head(
        of session: String, in database: Database
    ) throws -> SessionHeads.Head? {
        if let head = changed[session] ?? known[session] { return head }
        return try SessionHeads.Head(of: session, in: database)
    }
}

extension SessionHeads.Head {
    /// As the file has it; nil for a session that was never there.
    init?(of session: String, in database: Database) throws {
        let rows = try database.cachedStatement(
            sql: "SELECT row, generation, deleted, kept_after FROM sessions WHERE id = ?")
        guard let found = try Row.fetchOne(rows, arguments: [session]) else { return nil }
        let newest = try database.cachedStatement(
            sql: """
                SELECT number, part FROM records WHERE session = ?
                ORDER BY number DESC, part DESC LIMIT 1
                """)
        let row: Int64 = found[0]
        let last = try Row.fetchOne(newest, arguments: [row])
        let number: Int64 = last?[0] ?? 0
        let part: Int64 = last?[1] ?? JournalSchema.recordPart
        let isRecord = part == JournalSchema.recordPart
        let keptAfter: Int64 = found[3]
        self.init(
            row: row, generation: found[1], number: UInt64(isRecord ? number : number - 1),
            notes: isRecord ? 0 : UInt32(part), isDeleted: (found[2] as Int64?) != nil,
            kept: Int(number - keptAfter))
    }
}

extension JournalFailure {
    static func gap(_ place: String) -> JournalFailure {
        JournalFailure(
            reason: .unavailable, detail: "what was to be written does not continue \(place)")
    }
}
