/// Counts of measured times, by fixed upper bounds. Recording allocates nothing.
package struct TimeHistogram: Sendable {
    /// Upper bounds in seconds: from a request that waits for nothing to a client's usual time-out.
    package static let bounds: [Double] = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    /// One count per bound, without those of smaller bounds, and one for longer times.
    private var counts: InlineArray<15, UInt64> = .init(repeating: 0)
    private var nanoseconds: UInt64 = 0

    package init() {}

    package var seconds: Double { Double(nanoseconds) / 1_000_000_000 }

    package var classes: [(bound: Double, count: UInt64)] {
        Self.bounds.indices.map { (Self.bounds[$0], counts[$0]) }
    }

    package var beyond: UInt64 { counts[14] }

    package var count: UInt64 { (0..<15).reduce(0) { $0 + counts[$1] } }

    /// Records a time. A negative one counts as 0: the clock that measured it is coarse.
    package mutating func record(nanoseconds time: Int64) {
        counts[Self.index(of: time)] += 1
        nanoseconds &+= UInt64(max(0, time))
    }

    package mutating func add(_ other: TimeHistogram) {
        for index in 0..<15 { counts[index] += other.counts[index] }
        nanoseconds &+= other.nanoseconds
    }

    /// The index in ``bounds``; their number for a longer time.
    ///
    /// Why not a search in the array: constants need neither its memory nor its check.
    private static func index(of nanoseconds: Int64) -> Int {
        switch nanoseconds {
        case ...500_000: 0
        case ...1_000_000: 1
        case ...2_500_000: 2
        case ...5_000_000: 3
        case ...10_000_000: 4
        case ...25_000_000: 5
        case ...50_000_000: 6
        case ...100_000_000: 7
        case ...250_000_000: 8
        case ...500_000_000: 9
        case ...1_000_000_000: 10
        case ...2_500_000_000: 11
        case ...5_000_000_000: 12
        case ...10_000_000_000: 13
        default: 14
        }
    }
}
