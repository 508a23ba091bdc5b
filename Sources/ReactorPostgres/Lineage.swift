internal import Cluster

/// A commit, in a form in which another database can be asked for it.
struct CommitPoint: Equatable {
    var transaction: Int64
    /// A position in the log, in bytes: within what the transaction writes, before its commit.
    var position: Int64

    /// Columns of a statement that writes. The first one is NULL if it has written nothing.
    static let columns = columns()

    /// - Parameter arms: Queries of the `WITH` that write and whose rows the statement does not
    ///   use: counting their rows makes PostgreSQL execute them before the columns.
    static func columns(after arms: [String] = []) -> String {
        let rows = arms.map { "SELECT FROM \($0)" }.joined(separator: " UNION ALL ")
        let transaction = "pg_current_xact_id_if_assigned()::text::bigint"
        return """
            \(arms.isEmpty
                ? transaction
                : "CASE WHEN (SELECT count(*) FROM (\(rows)) w) >= 0 THEN \(transaction) END"),
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
            """
    }

    /// The commit of a statement with ``columns`` from this index on; nil if it has written
    /// nothing. The last row was made after everything was written.
    init?(_ found: Rows, _ column: Int) {
        guard found.count > 0, !found.isNull(found.count - 1, column) else { return nil }
        transaction = found.integer(found.count - 1, column)
        position = found.integer(found.count - 1, column + 1)
    }
}

/// The branches of the current era that a database continues, with its bytes of each log.
///
/// Design: a branch ends where the promoted standby had replayed the former primary's log. Later
/// commits on it are lost, and so are all on a branch that is not here. Branches of earlier eras do
/// not matter, because each era gives sessions other generations.
struct Lineage: Equatable {
    var ends: [Int64: Int64] = [:]

    /// Whether another database has shown contents that this one lacks.
    ///
    /// - Parameter own: The database with this lineage. An era counts from its beginning on.
    func lacks(_ other: DatabaseStanding, as own: DatabaseMark) -> Bool {
        guard other.mark.isComparable(with: own), other.mark.era == own.era else { return false }
        // No node has connected to a branch without a number.
        guard other.mark.branch != 0, other.mark.branch != own.branch else { return false }
        return ends[other.mark.branch].map { other.committed > $0 } ?? true
    }
}
