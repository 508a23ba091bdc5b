internal import GRDB

/// A part of the tail that is being moved into `records`, one session after another.
///
/// Invariant: the whole part is written there before any of it is removed here. A reader finds each
/// record in at least one of the two, and an interrupted move is repeated after a crash.
struct TailMove {
    /// The last sequence number of the part.
    let through: Int64
    /// The sessions of these records.
    let rows: [Int64]
    /// The sessions that are not moved yet, the next one last.
    fileprivate var waiting: [Int64]
    /// The number of the next session's records that are moved.
    fileprivate var offset = 0
    /// The next session is trimmed up to it; nil if deleted. Valid once `offset` is above 0.
    fileprivate var keptAfter: UInt64?
    /// The sequence number up to which the tail is removed.
    fileprivate var removed: Int64

    var isDone: Bool { removed >= through }

    fileprivate init(_ rows: [Int64], from first: Int64, through last: Int64) {
        self.rows = rows
        waiting = rows
        removed = first - 1
        through = last
    }
}

extension Maintenance {
    func beginMove() {
        isMoveWanted = false
        tailBytes = 0
        guard let (first, last) = tail.sequences else { return }
        move = TailMove(tail.rowsDescending(), from: first, through: last)
    }

    /// - Returns: the work done, in rows; at most about `limit`.
    func moveSome(_ limit: Int, _ database: Database) throws -> Int {
        guard move != nil else { return 0 }
        var left = limit
        while left > 0, let row = move?.waiting.last {
            left -= try moveRecords(of: row, left, database)
        }
        guard left > 0, var move else { return limit }
        let last = min(move.through, move.removed + Int64(max(1, left / Self.rowsPerRemoval)))
        try database.run("DELETE FROM tail WHERE place <= ?", .integer(last))
        left -= Int(last - move.removed) * Self.rowsPerRemoval
        move.removed = last
        self.move = move
        return limit - left
    }

    /// Moves all rows of a session out of the tail if they are few; returns whether it did.
    ///
    /// Invariant: the caller removes them from the tail's index after the commit.
    func moveAhead(_ row: Int64, _ database: Database) throws -> Bool {
        let entries = tail.entries(of: row, from: 0, through: .max, limit: Self.aheadLimit + 1)
        guard entries.count <= Self.aheadLimit else { return false }
        guard !entries.isEmpty else { return true }
        guard let keptAfter = try keptAfter(row, database) else { return false }
        _ = try moveRuns(entries, of: row, keptAfter: keptAfter, .max, database)
        let remove = try database.cachedStatement(sql: "DELETE FROM tail WHERE place = ?")
        for entry in entries { try remove.run(.integer(entry.sequence)) }
        return true
    }

    /// Moves the next rows of one session, joining many rows into one.
    private func moveRecords(of row: Int64, _ limit: Int, _ database: Database) throws -> Int {
        guard var move else { return 0 }
        let entries = tail.entries(
            of: row, from: move.offset, through: move.through, limit: limit)
        if move.offset == 0 { move.keptAfter = try keptAfter(row, database) }
        var (taken, work) = (entries.count, 1)
        if let keptAfter = move.keptAfter {
            (taken, work) = try moveRuns(
                entries, of: row, keptAfter: keptAfter, limit, database)
        }
        move.offset += taken
        if taken == entries.count, entries.count < limit {
            move.waiting.removeLast()
            move.offset = 0
        }
        self.move = move
        return work
    }

    private func moveRuns(
        _ entries: [TailIndex.Entry], of row: Int64, keptAfter: UInt64, _ limit: Int,
        _ database: Database
    ) throws -> (taken: Int, work: Int) {
        // A crash during a move leaves some rows in both. A row of the tail is moved whole, so the
        // rows already there end where one of the tail's rows does.
        let moved = try HistoryEnd.moved(of: row, database)?.position
        // Trimmed records are omitted, the creation too, but the newest one stays as the head.
        let newest = tail.newest(of: row)?.number ?? 0
        let first = min(keptAfter == 0 ? 0 : keptAfter + 1, newest)
        let select = try database.cachedStatement(sql: "SELECT lines FROM tail WHERE place = ?")
        var run = RecordPage(of: row)
        var (taken, work) = (0, 0)
        for entry in entries where work < limit {
            taken += 1
            work += 1
            guard entry.number >= first, moved.map({ $0 < entry.position }) ?? true,
                let lines = try select.first(.integer(entry.sequence), make: { $0.bytes(0) })
            else { continue }
            if !run.isEmpty, run.text.count + lines.count > RecordPage.fullBytes {
                try run.insertInRecords(database)
                run = RecordPage(of: row)
            }
            run.append(lines, entry)
            work += lines.count / Self.bytesPerRow
        }
        if !run.isEmpty { try run.insertInRecords(database) }
        return (taken, max(1, work))
    }

    /// Nil if the session is deleted.
    private func keptAfter(_ row: Int64, _ database: Database) throws -> UInt64? {
        let kept = try database.integer(
            "SELECT kept_after FROM sessions WHERE row = ? AND id IS NOT NULL", .integer(row))
        return kept.map { UInt64(bitPattern: $0) }
    }
}
