/// Checks the next record of a session: numbers without a gap, versions that rise by one.
struct RecordSequence {
    private var number: UInt64
    private var notes: UInt32 = 0
    private var version: UInt64
    private let keptAfter: UInt64

    /// - Parameter keptAfter: Records up to this one were trimmed; 0 if none was.
    init(keptAfter: UInt64, version: UInt64) {
        self.keptAfter = keptAfter
        self.version = version
        number = keptAfter > 0 ? keptAfter + 1 : 0
    }

    /// Advances by the record; returns a problem with its position, if there is one.
    mutating func problem(with record: HistoryEntry) -> String? {
        // The newest record, which is kept when all others are trimmed.
        if record.number <= keptAfter, keptAfter > 0 { return nil }
        let wanted = (number, record.part > 0 ? notes + 1 : 0)
        defer { moveOn(record) }
        guard (record.number, record.part) == wanted else {
            return "\(record.words) where record \(number) should be"
        }
        guard record.kind != .deleted else {
            return "\(record.words) is the end of a session that still exists"
        }
        guard (record.kind == .created) == (record.number == 0),
            (record.part > 0) == (record.kind == .note)
        else { return "\(record.words) is of the kind \(record.kind.word)" }
        let step = record.version &- version
        guard step == 0 || (step == 1 && record.part == 0), record.kind != .mutation || step == 1
        else { return "\(record.words) has version \(record.version) after \(version)" }
        return nil
    }

    func problem(withEnd newest: HistoryEnd) -> String? {
        guard hasRecords else { return Self.noRecords }
        guard (newest.number, newest.version, newest.notes) != (number - 1, version, notes)
        else { return nil }
        return "its records end at \(number - 1) of version \(version), but it is at "
            + "\(newest.number) of version \(newest.version)"
    }

    /// Whether there was any record, including trimmed ones.
    var hasRecords: Bool { number > 0 }

    static let noRecords = "it has no record, not even its creation"

    private mutating func moveOn(_ record: HistoryEntry) {
        version = record.version
        notes = record.part
        number = record.part == 0 ? record.number + 1 : record.number
    }
}

extension HistoryEntry {
    /// The record's position, for a message.
    var words: String { "record \(number)" + (part > 0 ? " note \(part)" : "") }
}
