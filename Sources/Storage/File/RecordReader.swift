internal import GRDB

/// Reads records of a session in order, from `records` and from the tail.
struct RecordReader {
    let database: Database
    let life: Life
    /// The session's records in the tail that may be wanted.
    ///
    /// Law: taken before the transaction began in which they are read.
    let waiting: [TailIndex.Entry]

    /// Shows what comes after `start`, for as long as `act` wants more.
    func each(after start: RecordPlace, through last: UInt64, act: (Record) -> Bool) throws {
        var reached = start
        var wantsMore = true
        let moved = try database.cachedStatement(
            sql: """
                SELECT \(Record.columns) FROM records
                WHERE session = ? AND (number, part) > (?, ?) AND number <= ?
                ORDER BY number, part
                """)
        try moved.each(
            .integer(life.row), .integer(Int64(clamping: start.number)),
            .integer(start.storedPart), .integer(Int64(clamping: last))
        ) { row in
            let record = Record(row, of: life)
            reached = record.place
            wantsMore = act(record)
            return wantsMore
        }
        guard wantsMore else { return }
        let newer = try database.cachedStatement(
            sql: "SELECT \(Record.columns) FROM tail WHERE place = ?")
        for entry in waiting
        where wantsMore && reached < entry.recordPlace && entry.number <= last {
            // None: it is further on its way, and was shown above.
            let record = try newer.first(.integer(entry.place)) { Record($0, of: life) }
            if let record { wantsMore = act(record) }
        }
    }
}
