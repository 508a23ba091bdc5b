internal import Storage

/// Slices of the journal that several readers of one session need at about the same time.
struct CatchUpCache {
    /// A slice depends on its selection and on the position after which it begins.
    struct Key: Hashable {
        let selection: Selection
        let reached: HistoryPosition
        let passed: HistoryPosition
        /// Whether the slice may begin later: its readers request all kept events, and any may be
        /// the first.
        let isFromStart: Bool
        /// Whether the slice is of a followed session that is known to have ended.
        let isOver: Bool
    }

    final class Slice {
        let framed: [UInt8]
        let reached: HistoryPosition
        /// Counts it for the readers whose connections have not accepted it.
        weak var bytes: WorkBytes?

        init(framed: [UInt8], reached: HistoryPosition) {
            self.framed = framed
            self.reached = reached
        }
    }

    /// Readers that wait for a slice that is being read.
    private var waiting: [Key: [CatchUp]] = [:]
    /// The newest last.
    private var slices: [(key: Key, slice: Slice)] = []
    /// Readers reach a position at slightly different times.
    private static let limit = 4

    /// Adds a reader that waits for a slice.
    ///
    /// - Returns: whether it is the first one, so that the slice has to be read.
    mutating func wait(for key: Key, _ reader: CatchUp) -> Bool {
        let isFirst = waiting[key] == nil
        waiting[key, default: []].append(reader)
        return isFirst
    }

    /// A slice was read.
    ///
    /// - Returns: the readers that have waited for it.
    mutating func removeWaiting(for key: Key) -> [CatchUp] {
        waiting.removeValue(forKey: key) ?? []
    }

    subscript(key: Key) -> Slice? { slices.last { $0.key == key }?.slice }

    /// Keeps a slice for readers that reach its position soon.
    ///
    /// - Returns: whether the cache was empty.
    mutating func insert(_ slice: Slice, at key: Key) -> Bool {
        guard self[key] == nil else { return false }
        if slices.count == Self.limit { slices.removeFirst() }
        slices.append((key, slice))
        return slices.count == 1
    }

    mutating func removeAll() { slices = [] }
}
