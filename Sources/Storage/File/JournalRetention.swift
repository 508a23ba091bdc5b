/// The amount of each session that a journal keeps, besides the newest snapshot and later records.
package struct JournalRetention: Sendable, Equatable {
    /// Records per session; older ones are trimmed, up to a snapshot, when an eighth more has
    /// accumulated. Default 100 000.
    package var records: Int
    /// The approximate number of bytes of a session's records and snapshots: trimmed likewise.
    /// Records after the newest snapshot always stay. Default 256 MiB.
    package var bytes: Int
    /// Milliseconds; older records are trimmed, up to a snapshot. Default 7 days.
    package var age: Int64
    /// Milliseconds for stored replies; the contract requires 24 hours. Default 25 hours.
    package var answers: Int64 = 90_000_000
    /// The number of deleted sessions that are remembered for ``age``; at the limit the oldest are
    /// forgotten, and requests for them get 404 instead of 410. Default 1 000 000.
    package var tombstones = 1_000_000
    /// The maximum number of rows that a step of maintenance writes or removes. In a file each KiB
    /// of them and each removal count as additional rows, in PostgreSQL each 64 KiB. Default 1000.
    package var stepRows = 1_000
    /// Records in the file's tail at which it is moved into the order of sessions. More make moving
    /// cheaper and the next start slower: it reads the tail, 1 µs per record. Default 65 536.
    package var tailRecords = 65_536
    /// The same limit for the bytes of its records. Default 32 MiB.
    package var tailBytes = 33_554_432

    package init(
        records: Int = 100_000, bytes: Int = 268_435_456, age: Int64 = 604_800_000
    ) {
        self.records = max(1, records)
        self.bytes = min(max(0, bytes), Int.max / 4)
        self.age = max(0, age)
    }
}
