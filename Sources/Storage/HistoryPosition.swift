/// The position of a record or a note in the history of one session.
///
/// Notes precede the record of their number: `(n, 1)`, `(n, 2)`, …, then the record `(n, 0)`.
package struct HistoryPosition: Sendable, Hashable {
    /// The record's number; of a note, the number of the record that comes next.
    package var number: UInt64
    /// 0 for a record; for a note, its index among the notes before that record, from 1.
    package var part: UInt32

    package init(_ number: UInt64, part: UInt32 = 0) {
        self.number = number
        self.part = part
    }

    /// Numbers, versions and actions are below this limit: a signed column can hold them in order,
    /// with room for more than any client can post. A larger value in a file is damage.
    package static let limit: UInt64 = 1 << 62

    /// A position from outside: from a file or from text. Nil if no journal stores it: no note
    /// precedes the creation, and the greatest part stands for a record in the file's columns.
    init?(stored number: UInt64, part: UInt32) {
        guard number < Self.limit, part == 0 || (number > 0 && part < .max) else { return nil }
        self.init(number, part: part)
    }

    /// The number of the next record, or of the record that this note precedes.
    package var nextNumber: UInt64 { part == 0 ? number + 1 : number }

    /// The record that has to be complete before this position can be resumed: the position of an
    /// event within a record needs that record as a whole.
    package var recordBefore: HistoryPosition {
        HistoryPosition(part == 0 ? number : number - 1)
    }

    /// Whether this position directly follows `last`: no record or note fits between them.
    package func follows(_ last: HistoryPosition) -> Bool {
        guard number == last.nextNumber else { return false }
        return part == 0 || part - 1 == last.part
    }
}

extension HistoryPosition: Comparable {
    package static func < (left: HistoryPosition, right: HistoryPosition) -> Bool {
        guard left.number == right.number else { return left.number < right.number }
        return left.part != 0 && (right.part == 0 || left.part < right.part)
    }
}

/// The end of a history or a part of it: the newest record, its version, and later notes.
package struct HistoryEnd: Sendable, Equatable {
    /// The newest record; 0 is the session's creation.
    package var number: UInt64
    /// Mutations up to and including that record.
    package var version: UInt64
    package var notes: UInt32

    package init(number: UInt64 = 0, version: UInt64 = 0, notes: UInt32 = 0) {
        self.number = number
        self.version = version
        self.notes = notes
    }

    package init(_ position: HistoryPosition, version: UInt64) {
        self.init(number: position.nextNumber - 1, version: version, notes: position.part)
    }

    /// The position of the newest record or note.
    package var position: HistoryPosition {
        notes == 0 ? HistoryPosition(number) : HistoryPosition(number + 1, part: notes)
    }
}
