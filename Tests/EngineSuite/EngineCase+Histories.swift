import Storage

// Random histories of many sessions, compared with a model.
extension EngineCase {
    static let histories: [EngineCase] = (UInt64(1)...6).map { seed in
        EngineCase("reads equal the model after any commit and any restart, seed \(seed)") {
            trial in
            var model = JournalModel()
            var maker = BatchMaker(seed: seed, sessions: 12)
            for round in 0..<60 {
                // Some wait for their predecessor, and some do not.
                var batches: [Batch] = []
                for _ in 0..<(round % 3 + 1) {
                    batches.append(maker.batch(model, records: 1...20))
                    model.apply(batches[batches.count - 1])
                }
                try trial.equal(
                    await trial.commit(all: batches), batches.map { _ in .committed },
                    "round \(round)")
                if round % 20 == 7 { try await trial.engine.reopen() }
                if round % 10 == 0 { try await expect(model, trial) }
            }
            try await expect(model, trial)
        }
    }

    private static func expect(_ model: JournalModel, _ trial: EngineTrial) async throws {
        for (session, life) in model.lives {
            let saved = try trial.required(try await trial.load(session), "session \(session)")
            try trial.equal(saved.key.generation, life.generation, "the generation")
            try trial.equal(saved.isDeleted, life.isDeleted, "the end of \(session)")
            guard !life.isDeleted else { continue }
            let end = HistoryEnd(
                number: life.number, version: life.version, notes: life.trailingNotes)
            try trial.equal(saved.end, end, "the end of \(session)")
            try trial.equal(try await trial.head(session)?.end, end, "the head of \(session)")
            try trial.equal(
                saved.snapshot?.number, life.snapshots.last?.number, "the snapshot of \(session)")
            let from = life.snapshots.last?.number ?? 0
            let mutations = life.records.filter { $0.kind == .mutation && $0.number > from }
            try trial.equal(
                saved.mutations.map(\.number), mutations.map(\.number),
                "the mutations of \(session)")
            let read = try await trial.records(session, generation: life.generation)
            try trial.equal(
                read, life.records.filter { $0.number > 0 }, "the history of \(session)")
        }
        let living = model.lives.filter { !$0.value.isDeleted }.sorted { $0.key < $1.key }
        let page = try await trial.page()
        try trial.equal(page.map(\.key.session), living.map(\.key), "the page")
        try trial.equal(page.map(\.end.number), living.map(\.value.number), "the numbers")
        try trial.equal(page.map(\.end.version), living.map(\.value.version), "the versions")
    }
}
