import Storage

// The promises of the archive.
extension EngineCase {
    static let reads: [EngineCase] = [
        EngineCase("a session that never was is not found") { trial in
            try await trial.succeed([.created("s")])
            try trial.equal(try await trial.head("t"), nil, "the head")
            try trial.equal(try await trial.load("t"), nil, "the session")
            try trial.equal(try await trial.records("t"), [], "the records")
            try trial.equal(
                try await trial.records("s", generation: "g2"), [], "another generation")
            try trial.equal(try await trial.snapshot("t", at: 5), nil, "the snapshot")
            try trial.equal(try await trial.answer("t", "k"), nil, "the answer")
        },
        EngineCase("the head says where a session ends") { trial in
            try await trial.succeed(
                HistoryEntry.life("s", 2) + [
                    .noteEntry("s", before: 3, 1, version: 2),
                    .noteEntry("s", before: 3, 2, version: 2),
                ])
            var head = SavedHead(key: .of("s"), reactor: "alerts")
            head.end = HistoryEnd(number: 2, version: 2, notes: 2)
            try trial.equal(try await trial.head("s"), head, "the head")
            try trial.equal(try await trial.load("s")?.end, head.end, "the end")
        },
        EngineCase("a slice of the history is a run of it, within its bytes") { trial in
            try await trial.succeed([.created("s")])
            var all: [HistoryEntry] = []
            var last = HistoryPosition(0)
            for first: UInt64 in stride(from: 1, to: 61, by: 6) {
                var some: [HistoryEntry] = []
                for number in first..<(first + 6) {
                    // Notes stand before some records, and at the ends of some commits.
                    some.append(.mutation("s", number))
                    for part in 0..<UInt32((number + 1) % 3) {
                        some.append(.noteEntry("s", before: number + 1, part + 1, version: number))
                    }
                }
                try await trial.succeed(Batch(records: some, after: [.of("s"): last]))
                last = some.last?.position ?? last
                all += some
            }
            try trial.equal(try await trial.records("s"), all, "the history")
            let positions = [HistoryPosition(0)] + all.map(\.position)
            for start in positions {
                let rest = all.filter { $0.position > start }
                for last in [0, start.number, start.number + 1, start.number + 7, 60, .max] {
                    let due = rest.filter { $0.number <= last }
                    try trial.equal(
                        try await trial.records("s", after: start, through: last), due,
                        "after \(start) through \(last)")
                }
                let one = try await trial.records("s", after: start, limitBytes: 0)
                try trial.equal(one, Array(rest.prefix(1)), "one after \(start)")
                let some = try await trial.records("s", after: start, limitBytes: 500)
                try trial.equal(some, Array(rest.prefix(some.count)), "some after \(start)")
                if some.count > 8 || (some.isEmpty && !rest.isEmpty) {
                    throw EngineFault(description: "\(some.count) entries in 500 bytes")
                }
            }
        },
        EngineCase("a snapshot is the newest at or before a version") { trial in
            var batch = Batch(records: HistoryEntry.life("s", 30))
            batch.snapshots = [.of("s", 10), .of("s", 20), .of("s", 30)]
            try await trial.succeed(batch)
            for (version, number): (UInt64, UInt64?) in [
                (0, nil), (9, nil), (10, 10), (19, 10), (20, 20), (29, 20), (30, 30),
                (.max >> 2, 30),
            ] {
                try trial.equal(
                    try await trial.snapshot("s", at: version)?.number, number, "at \(version)")
            }
            try trial.equal(try await trial.load("s")?.snapshot?.number, 30, "the newest")
        },
        EngineCase("a load has the mutations since the snapshot, without events and notes") {
            trial in
            var records = HistoryEntry.life("s", 2)
            records.append(.noteEntry("s", before: 3, 1, version: 2))
            records.append(.mutation("s", 3))
            var failure = HistoryEntry.mutation("s", 4, version: 3)
            failure.head.kind = .failure
            records.append(failure)
            records.append(.mutation("s", 5, version: 4))
            var batch = Batch(records: records)
            batch.snapshots = [.of("s", 1)]
            try await trial.succeed(batch)
            let saved = try trial.required(try await trial.load("s"), "session")
            try trial.equal(saved.mutations.map(\.number), [2, 3, 5], "the mutations")
            try trial.equal(saved.mutations.map(\.version), [2, 3, 4], "their versions")
            try trial.equal(saved.mutations.flatMap(\.events), [], "their events")
            try trial.equal(saved.end, HistoryEnd(number: 5, version: 4), "the end")
        },
        EngineCase("a page has the living sessions of its range, in the order of their ids") {
            trial in
            let ids = ["b", "a", "ab", "B", "a-1", "a_1", "Z", "abc", "b2", "0"]
            try await trial.succeed(ids.map { .created($0) })
            var other = HistoryEntry.created("other")
            other.reactor = "clock"
            try await trial.succeed([other, .mutation("b", 1), .deleted("abc", 1)])
            let living = (ids + ["other"]).filter { $0 != "abc" }
                .sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
            try trial.equal(try await trial.page().map(\.key.session), living, "all")
            var head = SavedHead(key: .of("b"), reactor: "alerts")
            head.end = HistoryEnd(number: 1, version: 1)
            try trial.equal(
                try await trial.page(SessionRange(prefix: "b", limit: 1)), [head], "a head")
            for after in [nil, "", "0", "a", "a\0", "\0", "a-", "aa", "b", "other", "zz", "é"]
                as [String?]
            {
                for prefix in ["", "a", "a-", "b", "zz"] {
                    for limit in [1, 3, 100] {
                        let range = SessionRange(after: after, prefix: prefix, limit: limit)
                        let due = living.filter {
                            $0.hasPrefix(prefix)
                                && Array((after ?? "").utf8).lexicographicallyPrecedes(
                                    Array($0.utf8))
                        }
                        try trial.equal(
                            try await trial.page(range).map(\.key.session),
                            Array(due.prefix(limit)), "\(range)")
                    }
                }
            }
            try trial.equal(
                try await trial.page(SessionRange(reactor: "clock", limit: 9)).map(\.key.session),
                ["other"], "the sessions of a reactor")
            for reactor in ["none", "clock\0", "\0"] {
                try trial.equal(
                    try await trial.page(SessionRange(reactor: reactor, limit: 9)), [],
                    "the sessions of no reactor")
            }
        },
    ]
}
