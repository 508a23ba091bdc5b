/// Counts the events of a session, to number the entries of its action log.
///
/// Invariant: it counts with and without a reader, so a position means the same to every reader.
struct ActionLogCounter {
    private var number: UInt64 = 0
    private var part: UInt32 = 0

    /// Counts a record.
    mutating func countRecord() {
        number += 1
        part = 0
    }

    /// Counts an event that is no record: its entry precedes the next record.
    mutating func countNote() {
        // Wraps after four thousand million notes without a record: then two have one position.
        part &+= 1
    }

    /// The position of the newest event.
    var position: ActionLogPosition {
        ActionLogPosition(number: part == 0 ? number : number + 1, part: part)
    }
}
