// A hashed timing wheel (Varghese and Lauck 1987, scheme 6), with two changes for deadlines that
// are moved far more often than they are reached:
// - a deadline that moves *later* does not move its entry: the entry stays in its bucket, and is
//   moved when that bucket comes round. So re-arming a time-out for every request costs one store;
// - a deadline beyond one revolution of the wheel is in the last bucket and is examined again
//   there, once per revolution.
//
// Pure: time is an argument, in ticks. Keys are small dense integers, the owner's own indices.

/// Deadlines of many keys, each set, moved and cleared in O(1).
struct TimerWheel {
    struct Entry {
        /// The tick at which the key is due, or `none`.
        var deadline: Int64
        /// The tick whose bucket holds the entry, or `none` when no bucket does. Invariant: never
        /// after `deadline` unless the deadline is cleared.
        var scheduled: Int64
        var next: Int32
        var previous: Int32
    }

    private static let none = Int64.max
    private static let nobody: Int32 = -1

    private var entries: [Entry] = []
    /// The first key of each bucket. The count is a power of two and a multiple of 64.
    private var heads: [Int32]
    /// One bit for each bucket that is not empty.
    private var occupied: [UInt64]
    /// All keys at or before this tick have been collected.
    private var current: Int64

    /// - Parameter bucketCount: ticks in one revolution; a power of two, at least 64.
    init(bucketCount: Int = 512, at tick: Int64 = 0) {
        precondition(
            bucketCount >= 64 && bucketCount & (bucketCount - 1) == 0,
            "a wheel turns in a power of two, at least 64")
        self.heads = Array(repeating: Self.nobody, count: bucketCount)
        self.occupied = Array(repeating: 0, count: bucketCount / 64)
        self.current = tick
    }

    func deadline(of key: Int) -> Int64? {
        guard key < entries.count, entries[key].deadline != Self.none else { return nil }
        return entries[key].deadline
    }

    /// Sets, moves or (nil) clears the deadline of `key`.
    mutating func set(_ key: Int, to deadline: Int64?) {
        guard let deadline else {
            if key < entries.count { entries[key].deadline = Self.none }
            return
        }
        while entries.count <= key {
            entries.append(
                Entry(
                    deadline: Self.none, scheduled: Self.none, next: Self.nobody,
                    previous: Self.nobody))
        }
        // `Int64.max` is reserved; a deadline that late is never reached anyway.
        let due = min(deadline, Self.none - 1)
        entries[key].deadline = due
        let scheduled = entries[key].scheduled
        if scheduled == Self.none {
            link(key)
        } else if due < scheduled {
            unlink(key)
            link(key)
        }
    }

    /// Advances the wheel to `tick` and appends the keys that are due, in no particular order.
    ///
    /// They keep it until `claim` is called: handling a key may move or clear another one.
    mutating func advance(to tick: Int64, collecting due: inout [Int]) {
        guard tick > current else { return }
        let turn = Int64(heads.count)
        let first = max(current + 1, tick - turn + 1)
        current = tick
        for visited in first...tick {
            let bucket = bucket(of: visited)
            guard occupied[bucket >> 6] & (1 << UInt64(bucket & 63)) != 0 else { continue }
            empty(bucket, at: tick, collecting: &due)
        }
    }

    /// Clears the deadline of a collected `key` if it is still due; returns whether it was.
    mutating func claim(_ key: Int, at tick: Int64) -> Bool {
        guard entries[key].deadline <= tick else { return false }
        entries[key].deadline = Self.none
        return true
    }

    /// For the next `advance`: not after the earliest deadline, perhaps before it; nil if empty.
    var nextTick: Int64? {
        let start = bucket(of: current + 1)
        let words = occupied.count
        // The first word is examined twice: its upper bits first, its lower bits last.
        for step in 0...words {
            let word = (start >> 6 + step) % words
            var bits = occupied[word]
            if step == 0 { bits &= ~0 << UInt64(start & 63) }
            if step == words { bits &= ~(~0 << UInt64(start & 63)) }
            guard bits != 0 else { continue }
            let bucket = word << 6 + bits.trailingZeroBitCount
            let ahead = (bucket - start) & (heads.count - 1)
            return current + 1 + Int64(ahead)
        }
        return nil
    }

    private func bucket(of tick: Int64) -> Int { Int(tick) & (heads.count - 1) }

    private mutating func link(_ key: Int) {
        let last = current + Int64(heads.count)
        let scheduled = min(max(entries[key].deadline, current + 1), last)
        let bucket = bucket(of: scheduled)
        let head = heads[bucket]
        entries[key].scheduled = scheduled
        entries[key].previous = Self.nobody
        entries[key].next = head
        if head != Self.nobody { entries[Int(head)].previous = Int32(key) }
        heads[bucket] = Int32(key)
        occupied[bucket >> 6] |= 1 << UInt64(bucket & 63)
    }

    private mutating func unlink(_ key: Int) {
        let entry = entries[key]
        let bucket = bucket(of: entry.scheduled)
        if entry.next != Self.nobody { entries[Int(entry.next)].previous = entry.previous }
        if entry.previous != Self.nobody {
            entries[Int(entry.previous)].next = entry.next
        } else {
            heads[bucket] = entry.next
            if entry.next == Self.nobody { occupied[bucket >> 6] &= ~(1 << UInt64(bucket & 63)) }
        }
        entries[key].scheduled = Self.none
    }

    /// Empties the bucket: due entries are collected, cleared ones dropped, others moved on.
    private mutating func empty(_ bucket: Int, at tick: Int64, collecting due: inout [Int]) {
        var key = heads[bucket]
        heads[bucket] = Self.nobody
        occupied[bucket >> 6] &= ~(1 << UInt64(bucket & 63))
        while key != Self.nobody {
            let index = Int(key)
            key = entries[index].next
            entries[index].scheduled = Self.none
            if entries[index].deadline <= tick {
                due.append(index)
            } else if entries[index].deadline != Self.none {
                link(index)
            }
        }
    }
}
