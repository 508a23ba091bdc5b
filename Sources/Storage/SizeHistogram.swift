/// Counts of measured sizes, by the powers of two up to 1024. Recording allocates nothing.
package struct SizeHistogram: Sendable, Equatable {
    package static let bounds: [Int] = (0...10).map { 1 << $0 }

    /// One count per bound, without those of smaller bounds, and one for larger sizes.
    private var counts: [UInt64]
    package private(set) var sum: UInt64 = 0

    package init() {
        counts = Array(repeating: 0, count: Self.bounds.count + 1)
    }

    package var classes: [(bound: Int, count: UInt64)] {
        Self.bounds.indices.map { (Self.bounds[$0], counts[$0]) }
    }

    package var beyond: UInt64 { counts[Self.bounds.count] }

    /// Records a size; 0 counts with 1.
    package mutating func record(_ size: Int) {
        let size = UInt64(clamping: size)
        let index = size <= 1 ? 0 : 64 - (size - 1).leadingZeroBitCount
        counts[min(index, Self.bounds.count)] += 1
        sum &+= size
    }

    package mutating func add(_ other: SizeHistogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        sum &+= other.sum
    }
}
