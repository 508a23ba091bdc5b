/// The history that a database shows, so that nodes can compare what they reach.
///
/// Design: an era begins when acknowledged history may be lost, and a timeline when a standby is
/// promoted. Two promoted standbys may have the same of both, so the first connection to a new
/// timeline draws a random number, the branch. The marks of one journal have a total order, so all
/// nodes agree which of two is newer. Histories with equal marks are the same history.
package struct DatabaseMark: Hashable, Sendable, CustomStringConvertible {
    /// A hash of the journal's identity, which copies share; 0 if it is not known.
    package var journal: Int64
    package var era: Int64
    package var timeline: Int64
    /// 0 for a timeline to which no node has connected yet, and if it is not known.
    package var branch: Int64

    package init(journal: Int64 = 0, era: Int64, timeline: Int64 = 0, branch: Int64 = 0) {
        self.journal = journal
        self.era = era
        self.timeline = timeline
        self.branch = branch
    }

    /// Whether another database has a newer history of the same journal.
    ///
    /// Why the era decides first: each session has another generation in each era, so no position
    /// has two contents, whichever database nodes believe.
    package func isBehind(_ other: DatabaseMark) -> Bool {
        guard isComparable(with: other) else { return false }
        guard (era, timeline) == (other.era, other.timeline) else {
            return (era, timeline) < (other.era, other.timeline)
        }
        // A branch that is not known yet may be the same one.
        return branch != 0 && branch < other.branch
    }

    /// Whether both are of one journal.
    package func isComparable(with other: DatabaseMark) -> Bool { journal == other.journal }

    /// The newest of the marks of one journal; of two with the same timeline the one whose
    /// branch is known.
    package static func newest(_ marks: [DatabaseMark]) -> DatabaseMark? {
        marks.max { ($0.era, $0.timeline, $0.branch) < ($1.era, $1.timeline, $1.branch) }
    }

    package var description: String { "era \(era), timeline \(timeline)" }
}
