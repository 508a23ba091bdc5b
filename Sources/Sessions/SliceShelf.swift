internal import Storage

/// Slices of the journal that many readers of one session want at about the same time.
struct SliceShelf {
    /// What a slice depends on, within a session: for whom it is, and behind what it begins.
    struct Place: Hashable {
        let selection: Selection
        let reached: RecordPlace
        let passed: RecordPlace
    }

    struct Slice {
        let framed: [UInt8]
        let reached: RecordPlace
    }

    /// Who waits for a slice that is being read.
    private var waiting: [Place: [Replay]] = [:]
    /// The newest last.
    private var kept: [(place: Place, slice: Slice)] = []
    /// How many there are that read slices; nothing is kept for nobody.
    var readers = 0 {
        didSet { if readers == 0 { kept = [] } }
    }

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

    subscript(place: Place) -> Slice? {
        get { kept.last { $0.place == place }?.slice }
        set {
            guard let newValue, readers > 0, self[place] == nil else { return }
            if kept.count == Self.limit { kept.removeFirst() }
            kept.append((place, newValue))
        }
    }
}
