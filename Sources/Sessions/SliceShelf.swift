internal import Storage

/// Slices of the journal that many readers of one session want at about the same time.
struct SliceShelf {
    /// What a slice depends on, within a session: for whom it is, and behind what it begins.
    struct Place: Hashable {
        let selection: Selection
        let reached: HistoryPosition
        let passed: HistoryPosition
        /// Whether it may begin later: for who wants what is kept, whatever that is.
        let isFromStart: Bool
    }

    struct Slice {
        let framed: [UInt8]
        let reached: HistoryPosition
    }

    /// Who waits for a slice that is being read.
    private var waiting: [Place: [Replay]] = [:]
    /// The newest last.
    private var kept: [(place: Place, slice: Slice)] = []
    /// Readers come to a place one after the other, but not far apart.
    private static let limit = 4

    /// Waits for a slice; answers whether it has to be read, since nobody has asked for it.
    mutating func awaits(_ place: Place, _ reader: Replay) -> Bool {
        let isFirst = waiting[place] == nil
        waiting[place, default: []].append(reader)
        return isFirst
    }

    /// A slice was read: who has waited for it.
    mutating func arrived(at place: Place) -> [Replay] {
        waiting.removeValue(forKey: place) ?? []
    }

    subscript(place: Place) -> Slice? { kept.last { $0.place == place }?.slice }

    /// Keeps a slice for those who come to its place while there are turns to take; answers
    /// whether it is the first that is kept.
    mutating func keep(_ slice: Slice, at place: Place) -> Bool {
        guard self[place] == nil else { return false }
        if kept.count == Self.limit { kept.removeFirst() }
        kept.append((place, slice))
        return kept.count == 1
    }

    mutating func clear() { kept = [] }
}
