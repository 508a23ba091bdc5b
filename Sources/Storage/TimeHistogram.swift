/// Counts of measured times, by fixed upper bounds.
package struct TimeHistogram: Sendable, Equatable {
    /// Upper bounds in seconds: from a request that waits for nothing to a client's usual time-out.
    package static let bounds: [Double] = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private let limits: [Double]
    /// One count per limit, without those of smaller limits, and one for longer times.
    private var counts: [UInt64]
    private var nanoseconds: UInt64 = 0

    /// - Parameter bounds: In seconds, ascending.
    package init(bounds: [Double] = TimeHistogram.bounds) {
        limits = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var seconds: Double { Double(nanoseconds) / 1_000_000_000 }

    package var classes: [(bound: Double, count: UInt64)] {
        limits.indices.map { (limits[$0], counts[$0]) }
    }

    package var beyond: UInt64 { counts[limits.count] }

    package var count: UInt64 { counts.reduce(0, +) }

    /// Records a time. A negative one counts as 0: the clock that measured it is coarse.
    package mutating func record(nanoseconds time: Int64) {
        // Most times are short, so the search ends early.
        let seconds = Double(time) / 1_000_000_000
        let index = limits.firstIndex { seconds <= $0 } ?? limits.count
        counts[index] += 1
        nanoseconds &+= UInt64(max(0, time))
    }

    /// Adds those of another histogram with the same bounds.
    package mutating func add(_ other: TimeHistogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        nanoseconds &+= other.nanoseconds
    }
}
