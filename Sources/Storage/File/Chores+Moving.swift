internal import GRDB

/// A part of the tail on its way into `records`, session by session.
///
/// Law: first all of it is written there, then it is removed here, so that a reader finds each
/// record in at least one of the two, and after a crash in the middle it is done again.
struct TailMove {
    /// Up to this place.
    let through: Int64
    /// Whose records these are.
    let rows: [Int64]
    /// Those that are not done, the next one last.
    fileprivate var waiting: [Int64]
    /// How many of the next session's records are done.
    fileprivate var offset = 0
    /// Up to where the next session is trimmed; nil: it is over. Valid once `offset` is above 0.
    fileprivate var keptAfter: UInt64?
    /// Up to here the tail is removed.
    fileprivate var removed: Int64

    var isDone: Bool { removed >= through }

    fileprivate init(_ rows: [Int64], from first: Int64, through last: Int64) {
        self.rows = rows
        waiting = rows
        removed = first - 1
        through = last
    }
}

extension Chores {
    func beginMove() {
        isMoveWanted = false
        tailBytes = 0
        guard let (first, last) = tail.places else { return }
        move = TailMove(tail.rowsDescending(), from: first, through: last)
    }

    /// Answers how many rows it wrote or removed; `limit` at the most.
    func moveSome(_ limit: Int, _ database: Database) throws -> Int {
        guard move != nil else { return 0 }
        var left = limit
        while left > 0, let row = move?.waiting.last {
            left -= try moveRecords(of: row, left, database)
        }
        guard left > 0, var move else { return limit }
        let last = min(move.through, move.removed + Int64(left))
        try database.cachedStatement(sql: "DELETE FROM tail WHERE place <= ?").run(.integer(last))
        left -= Int(last - move.removed)
        move.removed = last
        self.move = move
        return limit - left
    }

    /// The next of one session's records; a session that is done with counts as one row.
    private func moveRecords(of row: Int64, _ limit: Int, _ database: Database) throws -> Int {
        guard var move else { return 0 }
        let entries = tail.entries(
            of: row, from: move.offset, through: move.through, limit: limit)
        if move.offset == 0 { move.keptAfter = try keptAfter(row, database) }
        if let keptAfter = move.keptAfter {
            let insert = try database.cachedStatement(
                sql: """
                    INSERT OR IGNORE INTO records
                    SELECT session, number, part, kind, version, action, time, content, events,
                        traceparent
                    FROM tail WHERE place = ?
                    """)
            let newest = tail.newest(of: row)?.number ?? 0
            // What is trimmed already stays out (the creation too, the record 0), but the newest
            // says where the session stands.
            let first = keptAfter == 0 ? 0 : keptAfter + 1
            for entry in entries where entry.number >= min(first, newest) {
                try insert.run(.integer(entry.place))
            }
        }
        move.offset += entries.count
        if entries.count < limit {
            move.waiting.removeLast()
            move.offset = 0
        }
        self.move = move
        return max(1, entries.count)
    }

    /// Nil: the session is over.
    private func keptAfter(_ row: Int64, _ database: Database) throws -> UInt64? {
        let kept = try database.integer(
            "SELECT kept_after FROM sessions WHERE row = ? AND id IS NOT NULL", .integer(row))
        return kept.map { UInt64(bitPattern: $0) }
    }
}
