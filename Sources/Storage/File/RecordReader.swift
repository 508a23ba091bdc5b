internal import GRDB

/// Reads records of a session in order, from `records` and from the tail.
struct RecordReader {
    let database: Database
    let stored: FileSessionRow
    /// The session's records in the tail that may be needed.
    ///
    /// Invariant: read before the start of the transaction in which the rows are read.
    let waiting: [TailIndex.Entry]

    /// Passes the records after `start` to `act`, for as long as it returns true.
    func each(
        after start: HistoryPosition, through last: UInt64, act: (HistoryEntry) throws -> Bool
    ) throws {
        var reached = start
        var wantsMore = true
        func show(_ lines: [UInt8]) throws -> Bool {
            try HistoryCodec.decode(lines, of: stored.key, stored.reactor) { record in
                guard record.number <= last else { return false }
                guard reached < record.position else { return true }
                reached = record.position
                return try act(record)
            }
        }
        let moved = try database.cachedStatement(
            sql: """
                SELECT lines FROM records
                WHERE session = ? AND (number, part) > (?, ?) ORDER BY number, part
                """)
        try moved.each(
            .integer(stored.row), .integer(Int64(clamping: start.number)),
            .integer(start.storedPart)
        ) { row in
            wantsMore = try show(row.bytes(0))
            return wantsMore
        }
        let newer = try database.cachedStatement(sql: "SELECT lines FROM tail WHERE place = ?")
        for entry in waiting where wantsMore && reached < entry.position {
            // The row is missing if it was moved meanwhile; it was passed above.
            let lines = try newer.first(.integer(entry.sequence)) { $0.bytes(0) }
            if let lines { wantsMore = try show(lines) }
        }
    }
}
