internal import GRDB

// The tags of sessions in a journal's file.
extension FileArchive {
    func taggedPage(_ selection: TagSelection, _ answer: @escaping Answer<TaggedPage>) {
        readTail(answer) { database, tail in
            var (page, found) = (TaggedPage(), [(FileSessionRow, SessionTags)]())
            var (count, last) = (0, selection.after ?? .end)
            let (first, query) = (selection.first, try database.cachedStatement(sql: Self.tagQuery))
            try query.each(
                .string(first.name.text), .string(first.value.text), .integer(last.changed),
                .integer(last.row), .integer(Int64(TaggedPage.examined))
            ) { row in
                guard found.count < selection.limit else {
                    page.next = last
                    return false
                }
                (count, last) = (
                    count + 1, TagPosition(changed: row.integer(4), row: row.integer(0))
                )
                guard !row.isNull(1) else { return true }
                let stored = FileSessionRow(ofPage: row)
                guard let tags = try SessionTags(ofRow: stored.row, database),
                    selection.contains(stored.key.session, of: stored.reactor, tags)
                else { return true }
                found.append((stored, tags))
                return true
            }
            if count == TaggedPage.examined { page.next = last }
            let waiting = found.map { tail.newest(of: $0.0.row) }
            page.heads = try database.inOneView {
                try zip(found, waiting).map { found, waiting in
                    var head = try SavedHead(found.0, waiting: waiting, in: database)
                    head.tags = found.1
                    return head
                }
            }
            return page
        }
    }

    /// Rows of sessions that have ended are examined, too. The first columns are those of a page.
    static let tagQuery = """
        SELECT t.session, s.id, s.reactor, s.generation, t.changed
        FROM tags t LEFT JOIN sessions s ON s.row = t.session
        WHERE t.name = ?1 AND t.value = ?2 AND (t.changed, t.session) < (?3, ?4)
        ORDER BY t.changed DESC, t.session DESC LIMIT ?5
        """
}

extension SessionTags {
    /// Nil if the session has no row of tags.
    init?(ofRow row: Int64, _ database: Database) throws {
        var (all, changed): ([SessionTag], Int64?) = ([], nil)
        try database.each(
            "SELECT name, value, changed FROM tags WHERE session = ?", .integer(row)
        ) { row in
            if row.string(0).isEmpty {
                changed = row.integer(2)
            } else {
                all.append(SessionTag(row.string(0), row.string(1)))
            }
        }
        guard let changed else { return nil }
        self.init(all, changed: changed)
    }

    /// Replaces the rows of a session.
    func replace(ofRow row: Int64, _ reactor: String, _ database: Database) throws {
        try database.run("DELETE FROM tags WHERE session = ?", .integer(row))
        for tag in [.reactor(reactor)] + all {
            try database.run(
                "INSERT INTO tags(session, name, value, changed) VALUES(?, ?, ?, ?)",
                .integer(row), .string(tag.name.text), .string(tag.value.text), .integer(changed))
        }
    }
}
