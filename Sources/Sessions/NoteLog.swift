internal import DequeModule
internal import Storage

/// A session's kept notes: the entries of its action log that are no records.
///
/// Design: a note stands before the record that comes next (contract §1), so that whatever is
/// told of a session leaves the numbers of its records as they are. What is dropped here answers
/// `reset` to whoever asks the action log for it.
final class NoteLog {
    struct Entry {
        var place: HistoryPosition
        /// The action that led to it; 0 for none.
        var action: UInt64
        /// Milliseconds since 1970 (UTC).
        var time: Int64
        fileprivate var data: Range<Int>
    }

    /// Law: ascending by place.
    private var entries: Deque<Entry> = []
    private var payload = ByteLog()
    /// Everything after this place is kept, as far as it was ever built.
    private(set) var keptAfter = HistoryPosition(0)
    /// The record before which the newest notes stand, and how many of them there are.
    private var number: UInt64
    private var newest: UInt32

    /// - Parameter newest: how many notes stand before the record `number`, which is the next.
    init(before number: UInt64, newest: UInt32 = 0) {
        self.number = number
        self.newest = newest
        // Those are in the journal and not here.
        if newest > 0 { keptAfter = HistoryPosition(number, part: newest) }
    }

    func exceeds(_ retention: Retention) -> Bool {
        entries.count > retention.records || payload.count > retention.bytes
    }

    /// How many notes stand before this record. Precondition: it is the next one.
    func count(before number: UInt64) -> UInt32 {
        number == self.number ? newest : 0
    }

    /// Adds a note before the record `number`, which is the next one, and answers its part.
    func append(
        before number: UInt64, action: UInt64, time: Int64, _ content: [UInt8]
    ) -> UInt32 {
        newest = count(before: number) + 1
        self.number = number
        let start = payload.append(content)
        entries.append(
            Entry(
                place: HistoryPosition(number, part: newest), action: action, time: time,
                data: start..<(start + content.count)))
        return newest
    }

    /// The index of the first note after `place`; walk on from it with ``note(at:through:)``.
    func index(after place: HistoryPosition) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The note at this index; nil if there is none or it is behind `place`.
    func note(at index: Int, through place: HistoryPosition) -> Entry? {
        guard index < entries.count, entries[index].place <= place else { return nil }
        return entries[index]
    }

    func content(of note: Entry) -> ArraySlice<UInt8> {
        payload.piece(note.data)
    }

    /// Drops the notes up to the last record that was dropped, then the oldest until both limits
    /// hold, but never one behind `place`.
    func trim(to retention: Retention, after number: UInt64, keeping place: HistoryPosition) {
        while let first = entries.first, first.place <= place,
            first.place.number <= number || entries.count > retention.records
                || payload.count > retention.bytes
        {
            keptAfter = first.place
            payload.drop(before: first.data.upperBound)
            entries.removeFirst()
        }
    }

    /// Unsays everything behind `notes` notes before the record `number`: its commit failed.
    func rollBack(before number: UInt64, to notes: UInt32) {
        while let last = entries.last,
            last.place.number > number || (last.place.number == number && last.place.part > notes)
        {
            payload.drop(from: last.data.lowerBound)
            entries.removeLast()
        }
        self.number = number
        newest = notes
    }
}
