/// Counters of a journal since it was opened, for monitoring.
package struct JournalMetrics: Sendable, Equatable {
    /// Upper bounds of the histogram of ``commits``, in seconds. A flush takes from a tenth of a
    /// millisecond to several; seconds indicate a problem.
    package static let bounds: [Double] = [
        0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
    ]

    /// The number of commits by the time of writing and flushing: one count per bound in
    /// ``bounds``, without the commits of smaller bounds, and one for longer commits.
    package private(set) var commits: [UInt64]
    /// The total time of all commits.
    package private(set) var seconds = 0.0
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

    package init() {
        commits = Array(repeating: 0, count: Self.bounds.count + 1)
    }

    package mutating func recordCommit(of count: Int, _ duration: Duration) {
        let time = duration / .seconds(1)
        let place = Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count
        commits[place] += 1
        seconds += time
        batches += UInt64(count)
        sizes.record(count)
    }

    package mutating func recordFailure(of count: Int) { failures += UInt64(count) }

    /// Adds those of another writer.
    package mutating func add(_ other: JournalMetrics) {
        for index in commits.indices { commits[index] += other.commits[index] }
        seconds += other.seconds
        batches += other.batches
        sizes.add(other.sizes)
        failures += other.failures
        waiting += other.waiting
        isFailing = isFailing || other.isFailing
        logBytes = logBytes ?? other.logBytes
    }
}
