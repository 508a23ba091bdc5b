/// Counters of a journal since it was opened, for monitoring.
package struct JournalMetrics: Sendable, Equatable {
    /// In seconds. A flush takes from a tenth of a millisecond to several; seconds indicate a
    /// problem.
    private static let bounds: [Double] = [
        0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
    ]

    /// The times of writing and flushing each commit.
    package private(set) var commits = TimeHistogram(bounds: JournalMetrics.bounds)
    /// Batches in those commits: a batch is the result of one round of a loop.
    package private(set) var batches: UInt64 = 0
    /// The number of batches in each commit.
    package private(set) var sizes = SizeHistogram()
    /// Batches that were not committed.
    package private(set) var failures: UInt64 = 0
    /// Batches that wait for the end of the commit under way.
    package var waiting = 0
    /// Whether no commit is possible now.
    package var isFailing = false
    /// How often acknowledged history may have been lost; see ``Journal/watchHistory(_:)``.
    package var historyLosses: UInt64 = 0

    /// The size of the write-ahead log; nil for a journal that has none.
    package var logBytes: Int?

    package init() {}

    package mutating func recordCommit(of count: Int, _ duration: Duration) {
        commits.record(nanoseconds: Int64(duration / .nanoseconds(1)))
        batches += UInt64(count)
        sizes.record(count)
    }

    package mutating func recordFailure(of count: Int) { failures += UInt64(count) }

    /// Adds those of another writer.
    package mutating func add(_ other: JournalMetrics) {
        commits.add(other.commits)
        batches += other.batches
        sizes.add(other.sizes)
        failures += other.failures
        waiting += other.waiting
        isFailing = isFailing || other.isFailing
        logBytes = logBytes ?? other.logBytes
    }
}
