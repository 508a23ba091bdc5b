/// Counters of a journal since it was opened, for monitoring.
package struct JournalMetrics: Sendable, Equatable {
    /// Upper ends of the classes in which ``commits`` are counted, in seconds. Flushes take from
    /// a tenth of a millisecond to several; what takes seconds is trouble.
    package static let bounds: [Double] = [
        0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
    ]

    /// Commits by the time that writing and flushing took: one count for each of ``bounds``, of
    /// what no smaller one has, and one for what took longer.
    package private(set) var commits: [UInt64]
    /// Of all of them together.
    package private(set) var seconds = 0.0
    /// Batches in them: what a loop decided in one of its rounds.
    package private(set) var batches: UInt64 = 0
    /// Batches that were not committed.
    package private(set) var failures: UInt64 = 0
    /// Batches that wait for the commit under way to end.
    package var waiting = 0
    /// Whether nothing can be committed just now.
    package var isFailing = false

    package init() {
        commits = Array(repeating: 0, count: Self.bounds.count + 1)
    }

    /// Counts a commit of `count` batches.
    package mutating func noteCommit(of count: Int, _ duration: Duration) {
        let time = duration / .seconds(1)
        let place = Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count
        commits[place] += 1
        seconds += time
        batches += UInt64(count)
    }

    package mutating func noteFailure(of count: Int) { failures += UInt64(count) }
}
