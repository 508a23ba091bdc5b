import Storage
import Testing

@Suite("Histograms — each value is counted in its bucket", .timeLimit(.minutes(60)))
struct HistogramTests {
    @Test func `a time at a bound is within, and a nanosecond more is not`() {
        for (index, bound) in TimeHistogram.bounds.enumerated() {
            var histogram = TimeHistogram()
            let nanoseconds = Int64((bound * 1_000_000_000).rounded())
            histogram.record(nanoseconds: nanoseconds)
            #expect(histogram.classes[index].count == 1, "\(bound)")
            histogram.record(nanoseconds: nanoseconds + 1)
            let next =
                index + 1 < TimeHistogram.bounds.count
                ? histogram.classes[index + 1].count : histogram.beyond
            #expect(next == 1, "\(bound)")
            #expect(histogram.count == 2)
        }
    }

    @Test func `extreme times do no harm`() {
        var histogram = TimeHistogram()
        for time in [Int64.min, -1, 0, .max, .max, .max] { histogram.record(nanoseconds: time) }
        #expect(histogram.classes[0].count == 3)
        #expect(histogram.beyond == 3)
        var other = histogram
        other.add(histogram)
        #expect(other.count == 12)
    }

    @Test func `a size is counted at the first power of two that is not smaller`() {
        for size in [Int.min, -1, 0, 1, 2, 3, 4, 5, 1_023, 1_024] {
            var histogram = SizeHistogram()
            histogram.record(size)
            let bound = SizeHistogram.bounds.first { $0 >= size }
            #expect(histogram.classes.first { $0.count == 1 }?.bound == bound, "\(size)")
        }
        var histogram = SizeHistogram()
        histogram.record(1_025)
        histogram.record(.max)
        #expect(histogram.beyond == 2)
        histogram.add(histogram)
        #expect(histogram.beyond == 4)
    }
}
