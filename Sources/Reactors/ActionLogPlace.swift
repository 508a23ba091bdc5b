/// Counts what happens in a session.
///
/// Invariant: it counts whether somebody reads or not, so a position means the same to every reader.
struct ActionLogPlace {
    private var number: UInt64 = 0
    private var part: UInt32 = 0

    /// A record happened.
    mutating func record() {
        number += 1
        part = 0
    }

    /// Something happened that is no record: it stands before the next one.
    mutating func note() {
        // Wraps after four thousand million of them without a record: then two have one position.
        part &+= 1
    }

    /// Where what happened last stands.
    var position: ActionLogPosition {
        ActionLogPosition(number: part == 0 ? number : number + 1, part: part)
    }
}
