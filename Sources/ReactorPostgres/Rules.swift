/// The rules without which a journal in PostgreSQL loses or doubles what it has acknowledged. A test
/// switches each of them off, and has to notice it.
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

    package static let all: Rules = [
        .handsInAgain, .recognisesItsOwn, .comparesDatabases, .beginsWithCommit, .heedsWarnings,
    ]
}
