/// Deadlines of many keys, each set, moved and cleared in O(1).
///
/// Design: deadlines are moved far more often than they are reached, so a move is a store and a
/// comparison. Keys are in blocks. For each block a tick is known before which no key is due, so a
/// tick costs a look at each block, and a search of those that may have a due key. (A timing wheel,
/// Varghese and Lauck 1987, finds due keys without a search. It takes three times the memory, and
/// handling a key costs more than finding it.)
///
/// Pure: time is an argument, in ticks. Keys are small dense integers, the owner's own indices.
struct DeadlineTable {
    private static let none = Int64.max
    /// Of a key that was collected, and neither moved nor cleared since.
    private static let collected = Int64.max - 1
    /// The keys of a block; their deadlines are eight lines of the processor's cache.
    private static let blockSize = 64

    /// By key; `none` for a key without one.
    private var deadlines: [Int64] = []
    /// By block. Invariant: not after the deadline of any of its keys.
    private var earliest: [Int64] = []
    /// Invariant: not after any of `earliest`.
    private var next = Self.none
    /// All keys at or before this tick have been collected.
    private var current: Int64

    init(at tick: Int64 = 0) {
        current = tick
    }

    /// Sets, moves or (nil) clears the deadline of `key`.
    mutating func set(_ key: Int, to deadline: Int64?) {
        guard let deadline else {
            if key < deadlines.count { deadlines[key] = Self.none }
            return
        }
        while deadlines.count <= key {
            deadlines += Array(repeating: Self.none, count: Self.blockSize)
            earliest.append(Self.none)
        }
        // The largest two are reserved; a deadline that late is never reached anyway.
        let due = min(deadline, Self.collected - 1)
        deadlines[key] = due
        let block = key / Self.blockSize
        if due < earliest[block] { earliest[block] = due }
        if due < next { next = due }
    }

    /// Advances to `tick` and appends the keys that are due, in no particular order.
    ///
    /// Each is to be claimed before it is handled: handling a key may move or clear another one's
    /// deadline.
    mutating func advance(to tick: Int64, collecting due: inout [Int]) {
        guard tick > current else { return }
        current = tick
        guard next <= tick else { return }
        next = Self.none
        for block in earliest.indices {
            if earliest[block] <= tick { search(block, at: tick, collecting: &due) }
            next = min(next, earliest[block])
        }
    }

    private mutating func search(_ block: Int, at tick: Int64, collecting due: inout [Int]) {
        var later = Self.none
        for key in block * Self.blockSize..<(block + 1) * Self.blockSize {
            if deadlines[key] <= tick {
                due.append(key)
                deadlines[key] = Self.collected
            } else if deadlines[key] < Self.collected {
                later = min(later, deadlines[key])
            }
        }
        earliest[block] = later
    }

    /// Clears the deadline of a collected `key` if it is still due; returns whether it was.
    mutating func claim(_ key: Int, at tick: Int64) -> Bool {
        guard deadlines[key] <= tick || deadlines[key] == Self.collected else { return false }
        deadlines[key] = Self.none
        return true
    }

    /// For the next `advance`: not after the earliest deadline, perhaps before it; nil if empty.
    var nextTick: Int64? { next == Self.none ? nil : max(next, current + 1) }
}
