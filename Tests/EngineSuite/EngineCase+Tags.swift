package import Storage

// Sessions are found by their tags.
extension EngineCase {
    static let tags: [EngineCase] = [
        EngineCase("a session has the tags of its last commit, and is found by them") { trial in
            var batch = Batch(records: [.created("a"), .created("b"), .created("c")])
            batch.tags = [
                .of("a", 10, ["status": "open", "table": "é"]), .of("b", 20, ["status": "open"]),
            ]
            try await trial.succeed(batch)
            for _ in 0..<2 {
                try trial.equal(
                    try await trial.found("status:open"), ["b", "a"], "the newest first")
                try trial.equal(
                    try await trial.found("table:e\u{301}"), [], "canonically equal, other bytes")
                try trial.equal(
                    try await trial.load("a")?.tags,
                    SessionTags(
                        [SessionTag("status", "open"), SessionTag("table", "é")], changed: 10),
                    "the tags of a")
                try trial.equal(try await trial.load("c")?.tags, nil, "the tags of c")
                try trial.equal(
                    try await trial.page().map { $0.tags?.changed }, [10, 20, nil], "in a page")
                try await trial.engine.reopen()
            }
            // A change without a record replaces all tags, and makes the session the newest.
            var later = Batch(records: [.mutation("b", 1)])
            later.tags = [.of("a", 30, ["status": "done"]), .of("b", 40, [:])]
            later.expect("a", 0)
            try await trial.succeed(later)
            try trial.equal(try await trial.found("status:open"), [], "those that are open")
            try trial.equal(try await trial.found("status:done"), ["a"], "those that are done")
            try trial.equal(try await trial.found("table:é"), [], "a removed tag")
            try trial.equal(
                try await trial.found(reactor: "alerts"), ["b", "a"], "those of the reactor")
            let page = try await trial.tagged(TagSelection([], reactor: "alerts", limit: 9))
            try trial.equal(page.heads.map(\.end.number), [1, 0], "their ends")
            try trial.equal(page.next, nil, "the next page")
        },
        EngineCase("all conditions of a selection hold") { trial in
            var other = HistoryEntry.created("c-1")
            other.reactor = "clock"
            var batch = Batch(records: [.created("a-1"), .created("a-2"), .created("b-1"), other])
            batch.tags = [
                .of("a-1", 1, ["x": "1", "y": "1"]), .of("a-2", 2, ["x": "1", "y": "2"]),
                .of("b-1", 3, ["x": "1", "y": "1"]), .of("c-1", 4, ["x": "1"], reactor: "clock"),
            ]
            try await trial.succeed(batch)
            try trial.equal(try await trial.found("x:1"), ["c-1", "b-1", "a-2", "a-1"], "one tag")
            try trial.equal(try await trial.found("x:1", "y:1"), ["b-1", "a-1"], "two tags")
            try trial.equal(try await trial.found("y:1", "x:1"), ["b-1", "a-1"], "the other first")
            try trial.equal(try await trial.found("x:1", "y:3"), [], "one does not hold")
            try trial.equal(try await trial.found("x:1", prefix: "a-"), ["a-2", "a-1"], "a prefix")
            try trial.equal(try await trial.found("x:1", reactor: "clock"), ["c-1"], "a reactor")
            try trial.equal(try await trial.found("y:1", reactor: "clock"), [], "another's")
            for text in ["x:1\0", "x:", "x\0:1"] {
                try trial.equal(try await trial.found(text), [], "no tag of a session")
            }
        },
        EngineCase("the pages of a selection have each session once") { trial in
            var batch = Batch()
            let ids = (0..<30).map { "s\($0)" }
            batch.records = ids.map { HistoryEntry.created($0) }
            for (index, id) in ids.enumerated() {
                // Many were changed in one millisecond.
                let tags = ["x": "1", "third": index % 3 == 0 ? "yes" : "no"]
                batch.tags.append(.of(id, Int64(index / 10), tags))
            }
            try await trial.succeed(batch)
            for texts in [["x:1"], ["x:1", "third:yes"]] {
                var (seen, place, pages): ([String], TagPosition?, Int) = ([], nil, 0)
                repeat {
                    let page = try await trial.tagged(
                        TagSelection(texts.map(SessionTag.of), after: place, limit: 4))
                    if page.next != nil { try trial.equal(page.heads.count, 4, "a whole page") }
                    seen += page.heads.map(\.key.session)
                    (place, pages) = (page.next, pages + 1)
                } while place != nil
                let due = ids.enumerated().filter { texts.count == 1 || $0.offset % 3 == 0 }
                try trial.equal(seen, due.map(\.element).reversed(), "all, the newest first")
                try trial.equal(pages, texts.count == 1 ? 8 : 3, "the pages")
            }
        },
        EngineCase("a page examines a bounded number of sessions") { trial in
            let count = TaggedPage.examined + 20
            var batch = Batch(records: (0..<count).map { .created("s\($0)") })
            for index in 0..<count {
                batch.tags.append(
                    .of("s\(index)", Int64(index), index == 3 ? ["x": "1", "y": "1"] : ["x": "1"]))
            }
            try await trial.succeed(batch)
            let first = try await trial.tagged(
                TagSelection([.of("x:1"), .of("y:1")], limit: 100))
            try trial.equal(first.heads, [], "the first page")
            let next = try trial.required(first.next, "next page")
            let second = try await trial.tagged(
                TagSelection([.of("x:1"), .of("y:1")], after: next, limit: 100))
            try trial.equal(second.heads.map(\.key.session), ["s3"], "the second page")
            try trial.equal(second.next, nil, "a third page")
        },
        EngineCase("an ended session is not found, and its successor has no tags") { trial in
            var batch = Batch(records: [.created("s"), .created("t")])
            batch.tags = [.of("s", 1, ["x": "1"]), .of("t", 2, ["x": "1"])]
            try await trial.succeed(batch)
            try await trial.succeed([.deleted("s", 1)])
            try trial.equal(try await trial.found("x:1"), ["t"], "after the end")
            // The tags of a session that has ended are dropped.
            var late = Batch()
            late.tags = [.of("s", 3, ["x": "1"])]
            late.expect("s", 1)
            _ = await trial.commit(late)
            try trial.equal(try await trial.found("x:1"), ["t"], "after a late change")
            try await trial.succeed([.created("s", "g2")])
            try trial.equal(try await trial.found("x:1"), ["t"], "with a successor")
            try trial.equal(try await trial.load("s")?.tags, nil, "its tags")
        },
        EngineCase("the tags of a refused part are not written") { trial in
            var batch = Batch(records: [.created("s"), .mutation("s", 1)])
            batch.tags = [.of("s", 1, ["x": "1"])]
            try await trial.succeed(batch)
            var other = Batch(records: [.mutation("s", 1)])
            other.tags = [.of("s", 2, ["x": "2"])]
            try await trial.refuse(other, .of("s"), .endsAt(HistoryPosition(1)))
            try trial.equal(try await trial.found("x:1"), ["s"], "the earlier tag")
            try trial.equal(try await trial.found("x:2"), [], "the refused tag")
        },
    ]
}

extension TagChange {
    package static func of(
        _ session: String, _ changed: Int64, _ tags: [String: String], reactor: String = "alerts"
    ) -> TagChange {
        TagChange(
            of: .of(session), reactor,
            SessionTags(tags.map { SessionTag($0, $1) }, changed: changed))
    }
}

extension SessionTag {
    /// `name:value`
    fileprivate static func of(_ text: String) -> SessionTag {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return SessionTag(String(parts[0]), String(parts[1]))
    }
}

extension EngineTrial {
    func tagged(_ selection: TagSelection) async throws -> TaggedPage {
        try await ask { $0.taggedPage(selection, $1) }
    }

    fileprivate func found(
        _ tags: String..., reactor: String? = nil, prefix: String = ""
    ) async throws -> [String] {
        try await tagged(
            TagSelection(tags.map(SessionTag.of), reactor: reactor, prefix: prefix, limit: 100)
        ).heads.map(\.key.session)
    }
}
