/// Values that have come from other nodes, in their order, while sessions are being loaded.
///
/// Why: a node whose sessions were listening has ended, and this one wakes some of them. From
/// its claim on a session counts as awake for the other nodes, and before it is awake it would
/// miss a value.
///
/// Bounds: ``limit`` values, ``limitBytes`` of them, and ``limitNanoseconds`` for each.
package struct TopicArrivals<Value> {
    package static var limit: Int { 1_000 }
    /// A larger value waits alone.
    package static var limitBytes: Int { 8 << 20 }
    package static var limitNanoseconds: Int64 { 5_000_000_000 }

    private struct Arrival {
        let value: Value
        let bytes: Int
        let since: Int64
    }

    private var queue: [Arrival] = []
    private var bytes = 0
    /// The number of those that wait for the present loads, the first ones; nil: none does.
    private var waiting: Int?

    package init() {}

    package var isEmpty: Bool { queue.isEmpty }

    package func contains(where isIt: (Value) -> Bool) -> Bool {
        queue.contains { isIt($0.value) }
    }

    /// - Returns: False if there is no room.
    package mutating func add(_ value: Value, bytes count: Int, at now: Int64) -> Bool {
        guard queue.count < Self.limit, queue.isEmpty || bytes + count <= Self.limitBytes else {
            return false
        }
        queue.append(Arrival(value: value, bytes: count, since: now))
        bytes += count
        return true
    }

    /// Makes all values that have arrived wait for the sessions that are being loaded.
    ///
    /// - Returns: False if no value has arrived, or if earlier values still wait. Call
    ///   ``endWait()`` for those first.
    package mutating func beginWait() -> Bool {
        guard waiting == nil, !queue.isEmpty else { return false }
        waiting = queue.count
        return true
    }

    /// The loads have ended.
    ///
    /// - Returns: The values to deliver, in their order.
    package mutating func endWait() -> [Value] {
        defer { waiting = nil }
        return remove(waiting ?? 0)
    }

    /// The values that have waited too long, in their order.
    package mutating func expire(at now: Int64) -> [Value] {
        let isDue = { (arrival: Arrival) in now - arrival.since >= Self.limitNanoseconds }
        let count = queue.prefix(while: isDue).count
        waiting = waiting.map { max(0, $0 - count) }
        return remove(count)
    }

    private mutating func remove(_ count: Int) -> [Value] {
        let removed = queue.prefix(count)
        bytes -= removed.reduce(0) { $0 + $1.bytes }
        queue.removeFirst(count)
        return removed.map(\.value)
    }
}
