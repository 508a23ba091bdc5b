internal import Storage

// The tags of sessions.
extension PostgresArchive {
    /// Reads about as many rows of the index as the page has sessions, because most of them belong
    /// to it. Then reads as many as so far, so a page costs few statements if few belong to it.
    func taggedPage(_ selection: TagSelection, _ answer: @escaping Answer<TaggedPage>) {
        read(answer, proves: { _ in true }) { connection in
            // No text in PostgreSQL contains NUL; the error would cost the connection.
            guard !selection.containsNUL else { return TaggedPage() }
            var (page, examined, last) = (TaggedPage(), 0, selection.after ?? .end)
            while true {
                let slice = min(
                    max(selection.limit + 1, examined), TaggedPage.examined - examined)
                let found = try connection.run(
                    Self.tagged, selection.parameters(after: last, limit: slice),
                    within: SessionRow.limit)
                guard found.count > 0, !found.bool(0, Self.isStandby) else {
                    throw PostgresFault.standby
                }
                for index in 0..<found.count where !found.isNull(index, Self.place) {
                    guard page.heads.count < selection.limit else {
                        page.next = last
                        return page
                    }
                    last = TagPosition(
                        changed: found.integer(index, Self.place + 1),
                        row: found.integer(index, Self.place))
                    guard !found.isNull(index, 0) else { continue }
                    var head = SessionRow(found, index).head
                    head.tags = found.tags(index, SessionRow.afterColumns)
                    page.heads.append(head)
                }
                examined += found.count
                guard found.count == slice else { return page }
                guard examined < TaggedPage.examined else {
                    page.next = last
                    return page
                }
            }
        }
    }

    private static let place = SessionRow.afterColumns + 2
    private static let isStandby = place + 2

    /// A row for each examined session; its session columns are null if it has ended or does not
    /// match. At least one row, like ``SessionRow/byID``.
    static let tagged = """
        SELECT \(SessionRow.columns), g.tags, g.changed, t.session, t.changed, pg_is_in_recovery()
        FROM (SELECT 1) one LEFT JOIN (
            SELECT session, changed FROM tags
            WHERE name = $1 AND value = $2 AND (changed, session) < ($3, $4)
            ORDER BY changed DESC, session DESC LIMIT $5) t ON true
        LEFT JOIN LATERAL (
            SELECT * FROM sessions
            WHERE session = t.session AND deleted IS NULL AND starts_with(id, $6)
                AND NOT EXISTS (
                    SELECT 1 FROM unnest($7::text[], $8::text[]) c(name, value)
                    WHERE NOT EXISTS (
                        SELECT 1 FROM tags x WHERE x.session = t.session AND x.name = c.name
                            AND x.value = c.value))) s ON true
        \(SessionRow.newest) \(SessionRow.tags)
        ORDER BY t.changed DESC, t.session DESC
        """
}

extension TagSelection {
    fileprivate var containsNUL: Bool {
        ([prefix, reactor ?? ""] + tags.flatMap { [$0.name.text, $0.value.text] })
            .contains { $0.utf8.contains(0) }
    }

    fileprivate func parameters(after place: TagPosition, limit: Int) -> Parameters {
        let others = tags.dropFirst() + (tags.isEmpty ? [] : reactor.map { [.reactor($0)] } ?? [])
        return [
            first.name.text, first.value.text, place.changed, place.row, limit, prefix,
            others.map(\.name.text), others.map(\.value.text),
        ]
    }
}

extension SessionRow {
    /// The columns `g.tags` and `g.changed`; both are null if the session has no row of tags.
    static let tags = """
        LEFT JOIN LATERAL (
            SELECT string_agg(name || chr(1) || value, chr(2)) AS tags, max(changed) AS changed
            FROM tags WHERE session = s.session) g ON true
        """
}

extension Rows {
    /// Reads ``SessionRow/tags``.
    func tags(_ row: Int, _ column: Int) -> SessionTags? {
        guard let text = optionalText(row, column) else { return nil }
        let all = text.utf8.split(separator: 2).map { tag in
            tag.split(separator: 1, maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
        }
        return SessionTags(
            all.filter { !$0[0].isEmpty }.map { SessionTag($0[0], $0.count > 1 ? $0[1] : "") },
            changed: integer(row, column + 1))
    }
}
