/// Counts the events of a session, to number the entries of its action log.
///
/// Invariant: it also counts without a reader, so a position means the same to every reader.
struct ActionLogCounter {
    private var number: UInt64 = 0
    private var part: UInt32 = 0

    mutating func countRecord() {
        number += 1
        part = 0
    }

    /// Counts an event that is not a record: its entry precedes the next record.
    mutating func countNote() {
        // Wraps after 2^32 notes without a record: two notes then have the same position.
        part &+= 1
    }

    var position: ActionLogPosition {
        ActionLogPosition(number: part == 0 ? number : number + 1, part: part)
    }
}
