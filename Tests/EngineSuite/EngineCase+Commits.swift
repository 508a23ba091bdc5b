import Storage
import Synchronization

// A committed part is there, in its order.
extension EngineCase {
    static let commits: [EngineCase] = [
        EngineCase("committed data is read back unchanged, by another process too") { trial in
            var batch = Batch(records: HistoryEntry.life("s", 2))
            batch.records[2].traceparent = "00-aa-bb-01"
            batch.snapshots = [.of("s", 1)]
            batch.answers = [.of("s", "k")]
            let running = RunningAction(
                session: "s", generation: "g1", action: 7, content: Array("{}".utf8),
                subject: "ada", begun: 2)
            batch.started = [running]
            try await trial.succeed(batch)
            for _ in 0..<2 {
                let saved = try trial.required(try await trial.load("s"), "session")
                try trial.equal(saved.key, .of("s"), "the key")
                try trial.equal(saved.reactor, "alerts", "the reactor")
                try trial.equal(saved.end, HistoryEnd(number: 2, version: 2), "the end")
                try trial.equal(saved.snapshot, .of("s", 1), "the snapshot")
                try trial.equal(saved.mutations.map(\.number), [2], "the mutations")
                try trial.equal(saved.lastAction, 7, "the last action")
                try trial.equal(saved.running, [running], "the running actions")
                try trial.equal(saved.hasStoredAnswers, true, "whether it has stored answers")
                try trial.equal(
                    try await trial.records("s"), Array(batch.records.dropFirst()), "the records")
                try trial.equal(try await trial.answer("s", "k"), .of("s", "k"), "the answer")
                try trial.equal(try await trial.answer("s", "l"), nil, "another key")
                try await trial.engine.reopen()
            }
        },
        EngineCase("the owner of a session is kept") { trial in
            var created = HistoryEntry.created("s")
            SessionCreation(owner: "ada \"'é").append(to: &created.content)
            try await trial.succeed([created, .created("t")])
            try trial.equal(try await trial.load("s")?.owner, "ada \"'é", "the owner")
            try trial.equal(try await trial.head("s")?.owner, "ada \"'é", "the owner by the head")
            try trial.equal(try await trial.load("t")?.owner, nil, "the owner of another")
        },
        EngineCase("the input of a session is kept, even if only a snapshot is left") { trial in
            let input = Array(#"{"lot":"e\u0000 \\\"'é","limit":1e400}"#.utf8)
            var (created, other) = (HistoryEntry.created("s"), HistoryEntry.created("t"))
            SessionCreation(owner: "ada", input: input).append(to: &created.content)
            SessionCreation(input: input).append(to: &other.content)
            try await trial.succeed([created, other, .created("u")])
            for (id, owner, kept) in [("s", "ada", input), ("t", nil, input), ("u", nil, nil)]
                as [(String, ExactText?, [UInt8]?)]
            {
                let saved = try await trial.load(id)
                try trial.equal(saved?.creation.input, kept, "the input")
                try trial.equal(saved?.owner, owner, "the owner")
            }
        },
        EngineCase("a session that is created again has its new input") { trial in
            var (first, again) = (HistoryEntry.created("s"), HistoryEntry.created("s"))
            SessionCreation(input: Array("1".utf8)).append(to: &first.content)
            again.generation = "g2"
            SessionCreation(input: Array("2".utf8)).append(to: &again.content)
            try await trial.succeed([first])
            try await trial.succeed([.deleted("s", 1)])
            try await trial.succeed([again])
            try trial.equal(
                try await trial.load("s")?.creation.input, Array("2".utf8), "the input")
        },
        EngineCase("an empty batch is committed", isAboutRecords: false) { trial in
            try await trial.succeed(Batch())
        },
        EngineCase("batches end in the order of their submission", isAboutRecords: false) { trial in
            let batches = (0..<200).map { Batch(records: [.created("s\($0)")]) }
            try trial.equal(
                await trial.commit(all: batches), batches.map { _ in .committed }, "all")
        },
        EngineCase("empty, large and odd values are kept") { trial in
            let large = "\"\(String(repeating: "é", count: 400_000))\""
            var batch = Batch(records: [
                .created("s"), .mutation("s", 1, content: ""), .mutation("s", 2, content: large),
            ])
            batch.records[1].events = [
                HistoryEntry.Event(name: "a", data: []),
                HistoryEntry.Event(name: "b", data: Array("\"é\\n\\u0000'\"".utf8)),
            ]
            batch.records[1].head.action = (1 << 62) - 1
            batch.records[1].head.time = -5
            var answer = StoredAnswer.of("s", "é \"'\\")
            answer.bodyDigest = [0, 255, 39, 92]
            answer.body = []
            batch.answers = [answer]
            try await trial.succeed(batch)
            try trial.equal(
                try await trial.records("s"), Array(batch.records.dropFirst()), "the records")
            try trial.equal(try await trial.answer("s", answer.key), answer, "the answer")
        },
        EngineCase("batches that wait for none of their predecessors end in their order") { trial in
            try await trial.succeed([.created("s"), .created("t")])
            let verdicts = await trial.commit(all: interleaved)
            try trial.equal(verdicts, Array(repeating: .committed, count: interleaved.count), "all")
            try trial.equal(
                try await trial.records("s").map(\.number), Array(1...200), "the records of s")
            try trial.equal(
                try await trial.records("t").map(\.number), Array(1...100), "the records of t")
        },
        EngineCase("a verdict comes once, and not from inside the call", isAboutRecords: false) {
            trial in
            let journal = trial.engine.journal
            for round in 0..<50 {
                let verdict: Verdict = await withCheckedContinuation { continuation in
                    let isInside = Mutex(true)
                    // The lock is held for the whole call: a callback inside it would deadlock,
                    // which ends here with a trap.
                    isInside.withLock { isInside in
                        let batch = Batch(records: [.created("s\(round)")])
                        let result = journal.commit(batch) { verdict in
                            continuation.resume(returning: verdict)
                        }
                        if case .done = result { continuation.resume(returning: .committed) }
                        isInside = false
                    }
                }
                try trial.equal(verdict, .committed, "the verdict")
            }
        },
        EngineCase("a running action is kept until the commit that settles it") { trial in
            var batch = Batch(records: HistoryEntry.life("s", 1))
            batch.started = [7, 9].map {
                RunningAction(session: "s", generation: "g1", action: $0, content: Array("{}".utf8))
            }
            try await trial.succeed(batch)
            try trial.equal(try await trial.load("s")?.lastAction, 9, "the last action")
            var again = Batch()
            again.started = [batch.started[1]]
            again.started[0].begun = 2
            again.settled = [SettledAction(session: "s", generation: "g1", action: 7)]
            again.expect("s", 1)
            try await trial.succeed(again)
            try trial.equal(
                try await trial.load("s")?.running, again.started, "the running actions")
            // Begun and ended within one step.
            var brief = Batch()
            brief.started = [
                RunningAction(session: "s", generation: "g1", action: 12, content: Array("{}".utf8))
            ]
            brief.settled = [SettledAction(session: "s", generation: "g1", action: 12)]
            brief.expect("s", 1)
            try await trial.succeed(brief)
            try trial.equal(
                try await trial.load("s")?.running, again.started, "the running actions")
        },
        EngineCase("a timer is kept until it is replaced or removed") { trial in
            func timer(_ name: String, _ number: UInt64, due: Int64) -> SessionTimer {
                SessionTimer(
                    name: ExactText(name), number: number, due: due, content: Array("{}".utf8))
            }
            func change(_ name: String, _ timer: SessionTimer?) -> TimerChange {
                TimerChange(
                    of: SessionKey(session: "s", generation: "g1"), ExactText(name), timer)
            }
            var batch = Batch(records: HistoryEntry.life("s", 1))
            let (late, early) = (timer("late", 1, due: 3_000), timer("é", 1, due: 2_000))
            batch.timers = [change("late", late), change("é", early)]
            try await trial.succeed(batch)
            try trial.equal(try await trial.load("s")?.timers, [early, late], "the timers")
            // Another name, although Swift's strings are equal. One step sets and removes others.
            let (other, again) = (timer("e\u{301}", 2, due: 2_500), timer("late", 2, due: 1_000))
            var later = Batch()
            later.timers = [
                change("e\u{301}", other), change("late", nil), change("late", again),
                change("brief", timer("brief", 2, due: 1)), change("brief", nil),
            ]
            later.expect("s", 1)
            try await trial.succeed(later)
            try trial.equal(try await trial.load("s")?.timers, [again, early, other], "the timers")
            var last = Batch()
            last.timers = [change("é", nil), change("unknown", nil)]
            last.expect("s", 1)
            try await trial.succeed(last)
            try await trial.engine.reopen()
            try trial.equal(try await trial.load("s")?.timers, [again, other], "the timers")
            // Timers end with the session.
            try await trial.succeed([.deleted("s", 2)])
            try trial.equal(try await trial.load("s")?.timers, [], "the timers")
        },
        EngineCase("a later snapshot and a later answer replace earlier ones") { trial in
            var batch = Batch(records: HistoryEntry.life("s", 1))
            batch.snapshots = [.of("s", 1)]
            batch.answers = [.of("s", "k")]
            try await trial.succeed(batch)
            var later = Batch()
            later.snapshots = [.of("s", 1)]
            later.snapshots[0].state = Array("{\"other\":1}".utf8)
            later.answers = [.of("s", "k")]
            later.answers[0].status = 202
            later.expect("s", 1)
            try await trial.succeed(later)
            try trial.equal(try await trial.load("s")?.snapshot, later.snapshots[0], "the snapshot")
            try trial.equal(try await trial.answer("s", "k"), later.answers[0], "the answer")
        },
        EngineCase("after the end every commit fails") { trial in
            try await trial.succeed([.created("s")])
            let closed = trial.engine.journal
            try await trial.engine.reopen()
            let late: Verdict = await withCheckedContinuation { continuation in
                _ = closed.commit(Batch(records: [.mutation("s", 1)])) {
                    continuation.resume(returning: $0)
                }
            }
            guard case .failed(let failure) = late, failure.reason == .unavailable else {
                throw EngineFault(description: "a closed journal: \(late)")
            }
            try trial.equal(try await trial.load("s")?.end.number, 0, "the end")
        },
    ]

    /// Two records of s, then one of t.
    private static let interleaved: [Batch] = (1...100).flatMap { (number: UInt64) in
        [
            Batch(records: [.mutation("s", 2 * number - 1)]),
            Batch(records: [.mutation("s", 2 * number)]), Batch(records: [.mutation("t", number)]),
        ]
    }
}
