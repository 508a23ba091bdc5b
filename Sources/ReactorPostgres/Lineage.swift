internal import Cluster

/// A commit, as another database can be asked whether it has it.
struct CommitPoint: Equatable {
    var transaction: Int64
    /// A position in the log, in bytes: after some of what the transaction has written, and before
    /// its commit.
    var position: Int64

    /// Columns for a statement that has written: NULL in the first if it has not.
    static let columns = """
        pg_current_xact_id_if_assigned()::text::bigint,
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
        """

    init(transaction: Int64, position: Int64) {
        (self.transaction, self.position) = (transaction, position)
    }

    /// The commit of a statement with ``columns``, from the column with this index on; nil if it
    /// has written nothing. The last row was made after everything was written.
    init?(_ found: Rows, _ column: Int) {
        guard found.count > 0, !found.isNull(found.count - 1, column) else { return nil }
        transaction = found.integer(found.count - 1, column)
        position = found.integer(found.count - 1, column + 1)
    }
}

/// The branches of the present era that a database has continued, and how far: it has the log of a
/// branch up to that position, in bytes.
///
/// Design: where a former primary was left is the position up to which its standby had replayed
/// when it was promoted. What a node has acknowledged after that position is lost, and so is
/// everything that was acknowledged on a branch that is not here. Sessions have other generations
/// in each era, so branches of earlier eras do not matter.
struct Lineage: Equatable {
    var ends: [Int64: Int64] = [:]

    /// Whether contents were shown on another branch that are not on this one, so that one position
    /// may have two.
    ///
    /// - Parameters:
    ///   - own: The database with this lineage. An era counts from its begin on.
    ///   - other: Another one of the same journal.
    func lacks(_ other: DatabaseStanding, as own: DatabaseMark) -> Bool {
        guard other.mark.isComparable(with: own), other.mark.era == own.era else { return false }
        // To a branch without a number no node has connected.
        guard other.mark.branch != 0, other.mark.branch != own.branch else { return false }
        return ends[other.mark.branch].map { other.committed > $0 } ?? true
    }
}
