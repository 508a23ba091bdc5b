/// Which database a node believes: the newest of which it has heard, or none.
///
/// Design: a database that was overtaken still answers, and its answers do not show that. So each
/// mark counts, whatever its source: another node's link, another host of the address, a standby. A
/// node that has heard of a newer database than it reaches is in doubt until it reaches the newer
/// one.
package struct DatabaseBelief: Sendable, Equatable {
    /// The database of the last connection that was believed; nil before the first.
    package private(set) var present: DatabaseMark?
    /// The newest one that was heard of.
    package private(set) var newest: DatabaseMark?

    package init() {}

    /// The database that this node has to reach before it believes anything; nil if
    /// there is no doubt.
    package var sought: DatabaseMark? {
        guard let newest else { return nil }
        return present?.isBehind(newest) == false ? nil : newest
    }

    /// Whether a connection to a database with this mark may be believed.
    package func accepts(_ mark: DatabaseMark) -> Bool {
        newest.map { !mark.isBehind($0) } ?? true
    }

    /// Records a mark that another node or another server has shown.
    ///
    /// - Returns: Whether doubt begins with it.
    package mutating func hear(_ mark: DatabaseMark) -> Bool {
        // A mark of another journal does not count. A node knows its own journal from the start.
        guard let present, present.isBehind(mark), accepts(mark) else { return false }
        let begins = sought == nil
        newest = mark
        return begins
    }

    /// Records that a connection is believed.
    ///
    /// - Precondition: ``accepts(_:)``.
    package mutating func believe(_ mark: DatabaseMark) {
        present = mark
        newest = mark
    }

    // MARK: Hosts

    /// The mark that one host of the address shows.
    package struct Sight: Sendable, Equatable {
        /// Nil if it has no journal.
        package var mark: DatabaseMark?
        /// False for a standby, which is as new as what it has received.
        package var isWritable: Bool

        package init(_ mark: DatabaseMark?, isWritable: Bool) {
            self.mark = mark
            self.isWritable = isWritable
        }
    }

    package enum Choice: Equatable, Sendable {
        /// The host with this index.
        case take(Int)
        /// The newest history, which no writable host has.
        case behind(DatabaseMark)
        /// The hosts have different journals.
        case severalJournals
        /// No host is writable.
        case none
    }

    /// Chooses among the hosts that were reached; nil for one that was not.
    ///
    /// A host without a journal is taken only if no host has one: then the journal may be created
    /// there.
    package func choose(among sights: [Sight?]) -> Choice {
        let marks = sights.compactMap { $0?.mark }
        if let first = marks.first, !marks.allSatisfy(first.isComparable) {
            return .severalJournals
        }
        let newest = DatabaseMark.newest(marks + (newest.map { [$0] } ?? []))
        let writable = sights.indices.filter { sights[$0]?.isWritable == true }
        guard let newest else { return writable.first.map(Choice.take) ?? .none }
        let present = writable.filter { index in
            sights[index]?.mark.map { !$0.isBehind(newest) } ?? false
        }
        // Of several, one whose branch is known: nodes use it.
        let best = present.first { sights[$0]?.mark?.branch == newest.branch } ?? present.first
        if let best { return .take(best) }
        return writable.isEmpty ? .none : .behind(newest)
    }
}
