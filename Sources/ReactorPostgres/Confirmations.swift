internal import Cluster
internal import Storage

/// Finds sessions that are no longer as this node has them: many in one statement.
struct Confirmations {
    let node: Node

    private static let statementLimit = 4_096
    private static let limit = Duration.seconds(5)

    /// - Parameter areFollowed: Whether the sessions are those that this node follows.
    /// - Returns: for each list the sessions that have changed.
    func look(
        at lists: [[Confirmation]], areFollowed: Bool = false, _ connection: Connection
    ) throws(PostgresFault) -> [[String: Change]] {
        var answers = [[String: Change]](repeating: [:], count: lists.count)
        let all = lists.enumerated().flatMap { index, list in list.map { (index, $0) } }
        var start = 0
        while start < all.count {
            let some = all[start..<min(all.count, start + Self.statementLimit)]
            let found = try ask(some.map(\.1), areFollowed, connection)
            for row in 0..<found.count {
                let (list, confirmation) = all[start + Int(found.integer(row, Self.index))]
                answers[list][confirmation.key.session] = Self.change(
                    found, row, of: confirmation.key, isFollowed: areFollowed)
            }
            start = some.endIndex
        }
        return answers
    }

    private func ask(
        _ some: [Confirmation], _ areFollowed: Bool, _ connection: Connection
    ) throws(PostgresFault) -> Rows {
        var parameters: Parameters = [
            Array(some.indices), some.map(\.key.session), some.map(\.key.generation),
            some.map(\.position.column.number), some.map(\.position.column.part),
            some.map(\.epoch),
        ]
        if !areFollowed { parameters.add(node.number) }
        let found = try connection.run(
            areFollowed ? Self.followed : Self.owned, parameters, within: Self.limit)
        guard found.count == 0 || !found.bool(0, Self.isStandby) else { throw .standby }
        return found
    }

    private static func change(
        _ found: Rows, _ row: Int, of key: SessionKey, isFollowed: Bool
    ) -> Change {
        guard !found.isNull(row, 0) else { return Change(head: nil, owner: nil) }
        let stored = SessionRow(found, row)
        var change = Change(
            head: stored.isDeleted ? nil : stored.head, owner: stored.isDeleted ? nil : stored.node)
        guard isFollowed else { return change }
        change.epoch = stored.epoch
        // The rows of a deleted session are removed one after the other, the newest last.
        if stored.isDeleted, stored.key == key, stored.end.number > 0 {
            change.end = stored.end.number
        }
        return change
    }

    /// Columns after those of ``SessionRow``.
    private static let (index, isStandby) = (14, 15)

    /// Of sessions that this node owns, or has a copy of.
    static let owned = statement(
        isOther: "t.epoch IS NOT NULL AND (s.epoch <> t.epoch OR s.node IS DISTINCT FROM $7)")

    static let followed = statement(isOther: "s.epoch IS DISTINCT FROM t.epoch")

    /// - Parameter isOther: Whether the row `s` has another owner than `t` says.
    private static func statement(isOther: String) -> String {
        """
        SELECT \(SessionRow.columns), t.i, (SELECT pg_is_in_recovery())
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
            t(i, id, generation, number, part, epoch)
        LEFT JOIN sessions s ON s.id = t.id
        \(SessionRow.newest)
        WHERE s.session IS NULL OR s.deleted IS NOT NULL OR s.generation <> t.generation
            OR (r.number, r.part) IS DISTINCT FROM (t.number, t.part)
            OR \(isOther)
            OR (SELECT pg_is_in_recovery())
        """
    }
}
