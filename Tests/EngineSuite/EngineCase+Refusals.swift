import Storage

// A part that does not continue the journal is refused, and no other.
extension EngineCase {
    private static let end = HistoryPosition(2)

    static let refusals: [EngineCase] = [
        EngineCase("records that continue another position are refused") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            let key = SessionKey.of("s")
            let wrong: [(HistoryEntry, HistoryPosition)] = [
                (.mutation("s", 2), HistoryPosition(1)), (.mutation("s", 4), HistoryPosition(3)),
                // The notes that they continue are not there.
                (.mutation("s", 3), HistoryPosition(3, part: 1)),
                (.noteEntry("s", before: 3, 2, version: 2), HistoryPosition(3, part: 1)),
                (.noteEntry("s", before: 2, 1, version: 1), HistoryPosition(1)),
                (.deleted("s", 4), HistoryPosition(3)),
            ]
            for (entry, after) in wrong {
                let batch = Batch(records: [entry], after: [key: after])
                try await trial.refuse(batch, key, .endsAt(end))
            }
            try trial.equal(try await trial.load("s")?.end.number, 2, "the end")
            let note = HistoryEntry.noteEntry("s", before: 3, 1, version: 2)
            try await trial.succeed([note])
            try await trial.refuse(
                Batch(records: [.mutation("s", 3)]), key, .endsAt(note.position))
            try await trial.succeed(
                Batch(records: [.mutation("s", 3)], after: [key: note.position]))
        },
        EngineCase("data without records are refused where they expect another end") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            for position in [
                HistoryPosition(1), HistoryPosition(3), HistoryPosition(3, part: 1),
                HistoryPosition(2, part: 1),
            ] {
                for var batch in parts("s") {
                    batch.expected = [ExpectedEnd(.of("s"), at: position, lineage: 1)]
                    try await trial.refuse(batch, .of("s"), .endsAt(end))
                }
            }
            try await expectNothing(trial, "s")
            for var batch in parts("s") {
                batch.expect("s", 2)
                try await trial.succeed(batch)
            }
            try trial.equal(
                try await trial.load("s")?.running.map(\.action), [3], "the running actions")
        },
        EngineCase("a refused part fails no other, and leaves nothing") { trial in
            try await trial.succeed(
                HistoryEntry.life("a", 1) + HistoryEntry.life("b", 2) + HistoryEntry.life("d", 1))
            var batch = Batch(records: [
                .mutation("b", 4), .mutation("a", 2), .created("c"), .created("d", "g2"),
            ])
            for session in ["a", "b", "d"] {
                for part in parts(session) { batch.append(part) }
            }
            batch.expected = [ExpectedEnd(.of("d"), at: HistoryPosition(1), lineage: 1)]
            try trial.equal(
                await trial.commit(batch),
                .partial([.of("b"): .endsAt(end), .of("d", "g2"): .exists]), "the verdict")
            for _ in 0..<2 {
                try trial.equal(try await trial.load("a")?.end.number, 2, "the end of a")
                try trial.equal(
                    try await trial.load("a")?.running.map(\.action), [3], "a's actions")
                try trial.equal(try await trial.load("c")?.end.number, 0, "the end of c")
                try trial.equal(try await trial.load("b")?.end.number, 2, "the end of b")
                try trial.equal(try await trial.load("d")?.key, .of("d"), "the generation of d")
                try trial.equal(try await trial.load("d")?.snapshot, .of("d", 1), "d's snapshot")
                try await expectNothing(trial, "b")
                try await trial.engine.reopen()
            }
            try await trial.succeed([.mutation("b", 3), .mutation("a", 3)])
        },
        EngineCase("a part with several runs is refused as a whole") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2) + [.created("t")])
            // The second run of s does not continue the first one.
            let batch = Batch(records: [
                .mutation("s", 3), .mutation("t", 1), .mutation("s", 5), .mutation("t", 2),
            ])
            guard case .partial(let refused) = await trial.commit(batch),
                refused.keys.elementsEqual([.of("s")])
            else { throw EngineFault(description: "the part of s was not refused alone") }
            try trial.equal(try await trial.load("s")?.end.number, 2, "the end of s")
            try trial.equal(try await trial.load("t")?.end.number, 2, "the end of t")
            try await trial.succeed([.mutation("s", 3)])
        },
        EngineCase("what was decided upon a refused part is refused") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2) + [.created("t")])
            func batch(_ number: UInt64, _ lineage: UInt64) -> Batch {
                Batch(records: [.mutation("s", number)], lineage: lineage)
            }
            let verdicts = await trial.commit(all: [
                batch(4, 1), Batch(records: [.mutation("t", 1)]), batch(5, 1),
                // Its session was loaded again.
                batch(3, 2), batch(4, 2),
            ])
            try trial.equal(
                verdicts.map { $0 == .committed }, [false, true, false, true, true], "all")
            try trial.equal(
                try await trial.records("s").map(\.number), [1, 2, 3, 4], "the records")
        },
        EngineCase(
            "what was decided upon a refused part is refused wherever others have ended",
            isAboutOtherWriters: true
        ) { trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            func batch(_ number: UInt64, _ lineage: UInt64) -> Batch {
                Batch(
                    records: [.mutation("s", number, content: "\(lineage)")], lineage: lineage)
            }
            // Both continue the record 2; the loser's next record would continue the winner's.
            let verdicts = await trial.commit(all: [
                batch(3, 1), batch(3, 2), batch(4, 2), batch(5, 2), batch(4, 1),
            ])
            try trial.equal(
                verdicts.map { $0 == .committed }, [true, false, false, false, true], "all")
            try trial.equal(
                try await trial.records("s").dropFirst(2).map {
                    String(decoding: $0.content, as: UTF8.self)
                },
                ["1", "1"], "the contents")
            var late = Batch()
            late.snapshots = [.of("s", 4)]
            late.expected = [ExpectedEnd(.of("s"), at: HistoryPosition(4), lineage: 2)]
            try await trial.refuse(late, .of("s"), .lostLineage)
        },
        EngineCase("a session is created once") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            try await trial.refuse(Batch(records: [.created("s")]), .of("s"), .exists)
            let other = Batch(records: [.created("s", "g2"), .mutation("s", 1, generation: "g2")])
            try await trial.refuse(other, .of("s", "g2"), .exists)
            try await trial.succeed([.deleted("s", 3)])
            try await trial.succeed(other)
            try trial.equal(try await trial.load("s")?.key, .of("s", "g2"), "the key")
            try trial.equal(try await trial.load("s")?.snapshot, nil, "the snapshot")
            let twice = await trial.commit(
                all: ["g1", "g2", "g3"].map {
                    Batch(records: [.created("t", $0), .mutation("t", 1, generation: $0)])
                })
            try trial.equal(
                twice,
                [
                    .committed, .partial([.of("t", "g2"): .exists]),
                    .partial([.of("t", "g3"): .exists]),
                ],
                "three creations")
        },
        EngineCase("a session that is not there is refused") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            for key in [SessionKey.of("t"), .of("s", "g0"), .of("s", "g2")] {
                let batch = Batch(records: [
                    .mutation(key.session, 3, generation: key.generation)
                ])
                try await trial.refuse(batch, key, .absent)
                var part = Batch()
                part.settled = [
                    SettledAction(session: key.session, generation: key.generation, action: 1)
                ]
                part.expect(key.session, 2, generation: key.generation)
                try await trial.refuse(part, key, .absent)
            }
            try trial.equal(try await trial.load("t"), nil, "t")
        },
        EngineCase("after its end a session accepts no record, and drops what needs none") {
            trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            var end = Batch(records: [.deleted("s", 3)])
            for part in parts("s") { end.append(part) }
            try await trial.succeed(end)
            try await trial.refuse(Batch(records: [.mutation("s", 4)]), .of("s"), .absent)
            for var batch in parts("s") {
                batch.expect("s", 3)
                try await trial.succeed(batch)
            }
            try trial.equal(try await trial.answer("s", "late"), nil, "an answer")
            try await trial.engine.reopen()
            try trial.equal(try await trial.load("s")?.isDeleted, true, "whether s has ended")
            try trial.equal(try await trial.head("s")?.isDeleted, true, "whether s has ended")
            try trial.equal(try await trial.records("s"), [], "the records")
            try trial.equal(try await trial.page(), [], "the page")
        },
        EngineCase("a session may be saved, deleted and created again in one batch") { trial in
            try await trial.succeed(HistoryEntry.life("s", 2))
            var batch = Batch(records: [
                .deleted("s", 3), .created("s", "g2"), .mutation("s", 1, generation: "g2"),
            ])
            for part in parts("s") { batch.append(part) }
            try await trial.succeed(batch)
            let saved = try trial.required(try await trial.load("s"), "session")
            try trial.equal(saved.key, .of("s", "g2"), "the key")
            try trial.equal(saved.end.number, 1, "the end")
            try trial.equal(saved.snapshot, nil, "the snapshot")
            try trial.equal(saved.hasStoredAnswers, false, "whether it has stored answers")
            try trial.equal(saved.running, [], "the running actions")
            try trial.equal(try await trial.records("s", generation: "g2").map(\.number), [1], "g2")
            try trial.equal(try await trial.records("s"), [], "the records of g1")
        },
    ]

    /// Batches with data of a session without records.
    private static func parts(_ session: String) -> [Batch] {
        var parts = Array(repeating: Batch(), count: 4)
        parts[0].snapshots = [.of(session, 1)]
        parts[1].answers = [.of(session, "late")]
        parts[2].started = [
            RunningAction(session: session, generation: "g1", action: 3, content: Array("{}".utf8))
        ]
        parts[3].settled = [SettledAction(session: session, generation: "g1", action: 2)]
        return parts
    }

    /// Nothing of ``parts(_:)`` is there.
    private static func expectNothing(_ trial: EngineTrial, _ session: String) async throws {
        let saved = try trial.required(try await trial.load(session), "session")
        try trial.equal(saved.snapshot, nil, "the snapshot of \(session)")
        try trial.equal(saved.running, [], "the running actions of \(session)")
        try trial.equal(try await trial.answer(session, "late"), nil, "the answer of \(session)")
    }
}
