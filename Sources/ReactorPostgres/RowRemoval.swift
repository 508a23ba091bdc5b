internal import Storage

/// Removes rows of a table in steps of a bounded number of rows and bytes: a statement that takes
/// too long is rolled back, and would be repeated for ever.
struct RowRemoval {
    let statement: String

    /// - Parameters:
    ///   - content: the column whose bytes are counted.
    ///   - condition: of the rows; its parameters begin with `$3`.
    ///   - order: in which they are removed. An index has to have it.
    init(_ table: String, content: String, where condition: String, order: String) {
        // The size of a value is known without reading the value. The condition is repeated because
        // an append may replace an old answer meanwhile, and the row then has another time.
        statement = """
            WITH removed AS (
                DELETE FROM \(table) WHERE ctid = ANY(ARRAY(
                    SELECT place FROM (
                        SELECT place, sum(size) OVER (
                            ORDER BY \(order) ROWS UNBOUNDED PRECEDING) - size AS before
                        FROM (
                            SELECT *, ctid AS place, octet_length(\(content)) AS size
                            FROM \(table) WHERE \(condition) ORDER BY \(order) LIMIT $1) t) t
                    WHERE before < $2)) AND \(condition)
                RETURNING octet_length(\(content)) AS size)
            SELECT count(*), coalesce(sum(size), 0)::bigint FROM removed
            """
    }

    /// Removes the first rows: at least one, and at most `stepRows`. Each 64 KiB count as a row.
    ///
    /// - Returns: whether there may be more.
    func run(
        _ connection: Connection, _ retention: JournalRetention, _ values: Int64...
    ) throws(PostgresFault) -> Bool {
        let bytes = retention.stepRows * 65_536
        var parameters: Parameters = [retention.stepRows, bytes]
        for value in values { parameters.add(value) }
        let removed = try connection.run(statement, parameters, within: SessionRow.limit)
        return removed.integer(0, 0) >= retention.stepRows || removed.integer(0, 1) >= bytes
    }
}
