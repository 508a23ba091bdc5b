/// The rules without which a journal in PostgreSQL loses or doubles what it has acknowledged. Tests
/// switch off each rule, and check that something breaks.
package struct Rules: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A statement that was sent and not answered is handed in again until it is decided.
    package static let handsInAgain = Rules(rawValue: 1)
    /// A row is recognised by its writer and its number, never by its position.
    package static let recognisesItsOwn = Rules(rawValue: 2)
    /// A connection is compared with the database that it was before: identity, system, timeline.
    package static let comparesDatabases = Rules(rawValue: 4)
    /// A connection begins with a synchronous commit.
    package static let beginsWithCommit = Rules(rawValue: 8)
    /// A commit that succeeds with a warning has not succeeded.
    package static let heedsWarnings = Rules(rawValue: 16)

    /// An append names the owner and the epoch of its session.
    package static let fences = Rules(rawValue: 32)
    /// A statement that is handed in again is decided by its place alone, without the fence.
    package static let resubmitsWithoutFence = Rules(rawValue: 64)
    /// A session is loaded after it was claimed, and only believed if it is as it was claimed.
    package static let loadsAfterClaim = Rules(rawValue: 128)
    /// Where a row may have been trimmed, nobody says that it never was there.
    package static let heedsTrimming = Rules(rawValue: 256)

    /// Each connection holds its process's lock on the use of the journal.
    package static let locksUse = Rules(rawValue: 512)
    /// Times that nodes compare are the database's.
    package static let writesTimes = Rules(rawValue: 1_024)
    /// A read of a replicated database is believed once a commit was confirmed that was sent later.
    package static let provesReads = Rules(rawValue: 2_048)

    package static let all: Rules = [
        .handsInAgain, .recognisesItsOwn, .comparesDatabases, .beginsWithCommit, .heedsWarnings,
        .fences, .resubmitsWithoutFence, .loadsAfterClaim, .heedsTrimming, .locksUse,
        .writesTimes, .provesReads,
    ]
}
