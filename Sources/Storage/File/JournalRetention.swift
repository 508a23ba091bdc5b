/// How much a journal keeps of each session, beyond the newest snapshot and what follows it.
package struct JournalRetention: Sendable, Equatable {
    /// Records of a session; older ones go, up to a snapshot, when there are an eighth more.
    /// Default 100 000.
    package var records: Int
    /// About how many bytes of a session's records and snapshots are kept: the oldest go, up to a
    /// snapshot, when there are an eighth more. What follows the newest snapshot stays in any case.
    /// Default 256 MiB.
    package var bytes: Int
    /// Milliseconds; records older than this go, up to a snapshot. Default 7 days.
    package var age: Int64
    /// Milliseconds that stored answers are kept; the contract wants 24 hours at least.
    /// Default 25 hours.
    package var answers: Int64 = 90_000_000
    /// Deleted sessions that are remembered for as long as ``age``; at the limit the oldest are
    /// forgotten, and answer 404 in place of 410. Default 1 000 000.
    package var tombstones = 1_000_000
    /// Rows that a step of housekeeping writes or removes at the most, each KiB of them and each
    /// removal counted for more. Default 1000.
    package var stepRows = 1_000
    /// Records in the file's tail at which it is moved into the order of sessions. More make
    /// moving cheaper (more records of a session to a page) and the next start slower: it reads
    /// the tail, about 1 µs for each. Default 65 536.
    package var tailRecords = 65_536
    /// The same for the bytes of what it holds. Default 32 MiB.
    package var tailBytes = 33_554_432

    package init(
        records: Int = 100_000, bytes: Int = 268_435_456, age: Int64 = 604_800_000
    ) {
        self.records = max(1, records)
        self.bytes = min(max(0, bytes), Int.max / 4)
        self.age = max(0, age)
    }
}
