internal import GRDB

/// Consecutive records of one session: a row of `tail` or of `records`.
///
/// Why many per row: the cost of a row in SQLite does not depend on its content, and a busy session
/// leaves dozens of records in each commit.
struct RecordPage {
    let row: Int64
    private(set) var text: [UInt8] = []
    private(set) var count = 0
    private(set) var last = HistoryPosition(0)
    private(set) var version: UInt64 = 0

    /// The size at which another row starts: the least amount that a reader reads.
    static let fullBytes = RecordBatch.fullBytes
    /// From this size on, a session's records of one commit justify a row of `records`.
    static let aheadBytes = 2_048

    init(of row: Int64) { self.row = row }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ run: RecordBatch) {
        if isEmpty { text = run.text } else { text += run.text }
        count += run.count
        last = run.last
        version = run.version
    }

    mutating func append(_ record: HistoryEntry) {
        HistoryCodec.append(record, to: &text)
        count += 1
        last = record.position
        version = record.version
    }

    mutating func append(_ text: [UInt8], _ entry: TailIndex.Entry) {
        self.text += text
        count += Int(entry.count)
        last = entry.position
        version = entry.version
    }

    func insert(inTail sequence: Int64, _ database: Database) throws {
        try database.run(
            """
            INSERT INTO tail(session, number, part, version, count, lines, place)
            VALUES(?, ?, ?, ?, ?, ?, ?)
            """, .integer(row), .number(last.number), .integer(last.storedPart), .number(version),
            .integer(Int64(count)), .text(text), .integer(sequence))
    }

    func insertInRecords(_ database: Database) throws {
        try database.run(
            """
            INSERT INTO records(session, number, part, version, count, lines)
            VALUES(?, ?, ?, ?, ?, ?)
            """, .integer(row), .number(last.number), .integer(last.storedPart), .number(version),
            .integer(Int64(count)), .text(text))
    }
}
