internal import GRDB

/// The head of each session after all validated batches: validation needs no read.
///
/// A cache of the file: missing heads are read. Invariant: no head is dropped within a group. Its
/// batches build upon each other before any of them is in the tail's index.
final class SessionHeads {
    struct Head {
        var row: Int64
        var generation: String
        /// The position of the newest record or note; of a deleted session it has no meaning.
        var position = HistoryPosition(0)
        var isDeleted: Bool
        /// Records up to this were trimmed, or could not be without a snapshot.
        var trimmed: UInt64
        /// The approximate bytes of the session's records and snapshots so far.
        var bytes = 0
        /// The bytes that were trimmed, or could not be trimmed without a snapshot.
        var trimmedBytes = 0
    }

    private var heads: [String: Head] = [:]
    /// The runs of the last validated batch that were not refused, and the heads before them.
    private var before: [(run: Int, head: Head?)] = []
    private(set) var rows: [Int64] = []
    /// Invariant: no number is reused while any row of the old session exists.
    private var nextRow: Int64 = 1
    private let tail: TailIndex
    /// Sessions that exceed the record limit by an eighth.
    var crowded: Set<String> = []
    /// The excess of records at which a session counts as crowded.
    private let crowd: UInt64
    /// The same for bytes.
    private let crowdBytes: Int

    /// The number of cached heads, about 250 bytes each. Beyond it heads are read again on demand:
    /// that costs some ten microseconds, and evicted sessions cost nothing.
    static let limit = 20_000

    init(tail: TailIndex, keeping retention: JournalRetention) {
        self.tail = tail
        crowd = UInt64(retention.records + retention.records / 8)
        crowdBytes = retention.bytes + retention.bytes / 8
    }

    /// Starts over from the file.
    func reset(_ database: Database) throws {
        heads.removeAll()
        crowded.removeAll()
        before.removeAll()
        nextRow = 1
        for (table, row) in [
            ("sessions", "row"), ("tail", "session"), ("records", "session"),
            ("snapshots", "session"), ("answers", "session"), ("running", "session"),
            ("timers", "session"), ("tags", "session"),
        ] {
            // Each query reads the end of an index, except for the tail, which is bounded.
            nextRow = max(nextRow, try database.next(after: "SELECT max(\(row)) FROM \(table)"))
        }
    }

    /// Drops heads above the limit. Between groups only.
    func shrink() {
        if heads.count > Self.limit { heads.removeAll() }
    }

    /// The row of a session. Invariant: the session's batch was validated.
    func row(of session: String) -> Int64 {
        guard let head = heads[session] else { preconditionFailure("a batch that was not checked") }
        return head.row
    }

    /// Whether that generation is alive after the last validated batch.
    func isLiving(_ session: String, _ generation: String) -> Bool {
        guard let head = heads[session] else { return false }
        return !head.isDeleted && head.generation == generation
    }

    /// Records the bytes of a snapshot; returns the session's bytes including it.
    ///
    /// Invariant: the session's batch was validated.
    func addSnapshot(_ bytes: Int, of session: String) -> Int {
        guard var head = heads[session] else { preconditionFailure("a batch that was not checked") }
        head.bytes += bytes
        heads[session] = head
        return head.bytes
    }

    subscript(session: String) -> Head? {
        get { heads[session] }
        set { heads[session] = newValue }
    }

    // MARK: Validation

    /// Advances by the parts of the batch that continue the file. A lineage needs no check: only
    /// this process writes, so a part that was decided upon a lost one is beyond the end. Returns
    /// the other parts, which have changed nothing.
    func validate(_ batch: Batch, _ database: Database) throws -> [SessionKey: CommitRefusal] {
        before.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
        var refused: [SessionKey: CommitRefusal] = [:]
        for end in batch.expected {
            if let refusal = try refusal(of: end, database) { refused[end.key] = refusal }
        }
        for (index, run) in batch.runs.enumerated()
        where refused.isEmpty || refused[run.key] == nil {
            switch try head(after: run, database) {
            case .success(let next):
                rows.append(next.row)
                before.append((index, heads.updateValue(next, forKey: run.key.session)))
            case .failure(let refusal):
                refused[run.key] = refusal
                undo(run.key, in: batch)
            }
        }
        return refused
    }

    /// Undoes earlier runs of a part whose later run is refused.
    private func undo(_ key: SessionKey, in batch: Batch) {
        for index in before.indices.reversed() where batch.runs[before[index].run].key == key {
            heads[key.session] = before[index].head
            before.remove(at: index)
            rows.remove(at: index)
        }
    }

    private func refusal(of end: ExpectedEnd, _ database: Database) throws -> CommitRefusal? {
        guard let head = try head(of: end.key.session, database),
            head.generation == end.key.generation
        else { return .absent }
        // This process has deleted it.
        if head.isDeleted { return nil }
        return head.position == end.position ? nil : .endsAt(head.position)
    }

    private func head(
        after run: RecordBatch, _ database: Database
    ) throws -> Result<Head, CommitRefusal> {
        let present = try head(of: run.key.session, database)
        var next: Head
        if run.created != nil {
            guard present?.isDeleted ?? true else { return .failure(.exists) }
            next = Head(
                row: nextRow, generation: run.key.generation, isDeleted: false, trimmed: 0)
            nextRow += 1
        } else {
            guard let present, present.generation == run.key.generation, !present.isDeleted else {
                return .failure(.absent)
            }
            guard run.after == present.position, run.followsItsEnd else {
                return .failure(.endsAt(present.position))
            }
            next = present
        }
        next.bytes += run.text.count
        next.position = run.last
        next.isDeleted = run.deleted != nil
        recordSurplus(run.key.session, next, since: present)
        return .success(next)
    }

    private func recordSurplus(_ session: String, _ head: Head, since last: Head?) {
        if head.bytes - head.trimmedBytes > crowdBytes { crowded.insert(session) }
        let kept = head.number - min(head.number, head.trimmed)
        guard kept > crowd else { return }
        // An occasional check suffices, and saves a look-up in the set for each run.
        let before = last.map { $0.number - min($0.number, $0.trimmed) } ?? 0
        guard before <= crowd || (before - crowd - 1) / 256 != (kept - crowd - 1) / 256 else {
            return
        }
        crowded.insert(session)
    }

    private func head(of session: String, _ database: Database) throws -> Head? {
        if let head = heads[session] { return head }
        let found = try Head(of: session, tail, database)
        heads[session] = found
        return found
    }
}

extension SessionHeads.Head {
    /// The number of the newest record.
    var number: UInt64 { position.nextNumber - 1 }

    /// Reads the head from the file; nil for a session that never existed or is forgotten.
    init?(of session: String, _ tail: TailIndex, _ database: Database) throws {
        let living = try database.first(
            "SELECT row, generation, kept_after FROM sessions WHERE id = ?", .string(session)
        ) { found in
            Self(
                row: found.integer(0), generation: found.string(1), isDeleted: false,
                trimmed: try found.number(2))
        }
        if var living {
            living.position =
                try HistoryEnd(of: living.row, tail.newest(of: living.row), database).position
            try living.weigh(tail, database)
            self = living
            return
        }
        let deleted = try database.first(
            "SELECT generation FROM tombstones WHERE id = ?", .string(session)
        ) { found in
            Self(row: 0, generation: found.string(0), isDeleted: true, trimmed: 0)
        }
        guard let deleted else { return nil }
        self = deleted
    }

    /// Determines the session's bytes: its newest snapshot has them, and the records since are few.
    /// A row that contains the snapshot's record counts completely.
    fileprivate mutating func weigh(_ tail: TailIndex, _ database: Database) throws {
        let newest = try database.first(
            """
            SELECT number, bytes FROM snapshots WHERE session = ?
            ORDER BY version DESC, number DESC LIMIT 1
            """, .integer(row)
        ) {
            (number: try $0.number(0), bytes: Int(clamping: $0.integer(1)))
        }
        let after = newest?.number ?? 0
        bytes = newest?.bytes ?? 0
        // As blobs, because SQLite counts characters in a text.
        bytes +=
            try database.integer(
                """
                SELECT sum(length(CAST(lines AS BLOB))) FROM records
                WHERE session = ? AND number > ?
                """, .integer(row), .number(after)
            ).map { Int(clamping: $0) } ?? 0
        for entry in tail.entries(of: row, after: HistoryPosition(after)) {
            bytes +=
                try database.integer(
                    "SELECT length(CAST(lines AS BLOB)) FROM tail WHERE place = ?",
                    .integer(entry.sequence)
                ).map { Int(clamping: $0) } ?? 0
        }
        guard trimmed > 0 else { return }
        trimmedBytes =
            try database.integer(
                "SELECT bytes FROM snapshots WHERE session = ? ORDER BY version, number LIMIT 1",
                .integer(row)
            ).map { Int(clamping: $0) } ?? 0
    }
}
