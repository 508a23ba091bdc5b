internal import Storage

/// Keeps a feed up to date if no session of this process appends to it, because another process
/// decides on the session, or none does.
package protocol FeedUpkeep: AnyObject {
    /// Whether the session has ended. The readers get the last events.
    var isOver: Bool { get set }

    /// Whether a reader waits for the journal.
    var hasWaiting: Bool { get set }

    /// Whether an answer that the journal gave after the read confirms the gap. Without such an
    /// answer, the session may have ended, and the records of ended sessions are read in another
    /// way.
    func confirms(_ gap: JournalGap) -> Bool
}

/// Reads of the journal that have failed one after the other, although the journal responds: the
/// records may be damaged.
package struct ReadFailures {
    /// When the first and the last of them have failed; nil if the last read did not fail.
    private var times: (first: Int64, last: Int64)?

    /// A stream that nothing has confirmed for this time, in milliseconds, is closed.
    package static let limit: Int64 = 10_000

    package init() {}

    /// A read has failed.
    ///
    /// - Parameter now: By the loop's own clock.
    /// - Returns: false if reads have failed for ``limit`` without a success.
    package mutating func mayContinue(at now: Int64) -> Bool {
        let first = times.flatMap { now - $0.last < 2 * Self.limit ? $0.first : nil } ?? now
        times = (first, now)
        return now - first < Self.limit
    }

    /// A read has succeeded.
    package mutating func end() { times = nil }
}

/// A record that a read of the journal has not found.
package struct JournalGap {
    /// The position that the record follows.
    let after: HistoryPosition
    /// The number of the last question that was sent before the read ended.
    package let question: UInt64
}

/// The reads of the journal for one subscriber that did not find the next record.
///
/// Why a class: most subscribers have none, and an empty reference is small.
final class MissedReads {
    /// The record that the journal did not have when it was read.
    var gap: JournalGap?
    var failures = ReadFailures()
}
