internal import DequeModule
internal import Storage

extension SharedStream {
    /// The end of an event. The part is the index, from 1, among all events of the record, selected
    /// or not, so that it is the same on every stream. On the action log the part counts the notes
    /// before the record, and is 0 for the record.
    struct Mark: Sendable {
        var position: HistoryPosition
        var end: Int
    }
}

// Marks are in the order of their events.
extension Deque<SharedStream.Mark> {
    /// The index of the first event after the position; the number of marks if there is none.
    func firstIndex(after position: HistoryPosition) -> Int {
        firstIndex { $0.position > position }
    }

    /// The index of the first event that ends after the offset; the number of marks if there is
    /// none.
    func firstIndex(endingAfter offset: Int) -> Int { firstIndex { $0.end > offset } }

    /// The index of the first mark with a property that all later marks have as well.
    private func firstIndex(_ holds: (SharedStream.Mark) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
