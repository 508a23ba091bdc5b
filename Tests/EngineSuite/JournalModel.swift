package import Storage
package import TestRandomness

/// The expected content of a journal, in the simplest form.
package struct JournalModel {
    package struct Life: Equatable {
        package var generation: String
        package var records: [HistoryEntry] = []
        package var snapshots: [Snapshot] = []
        package var isDeleted = false

        package var number: UInt64 { records.last { $0.part == 0 }?.number ?? 0 }
        package var version: UInt64 { records.last?.version ?? 0 }
        package var trailingNotes: UInt32 {
            guard let last = records.last else { return 0 }
            return last.part
        }
    }

    package var lives: [String: Life] = [:]

    package init() {}

    package mutating func apply(_ batch: Batch) {
        for record in batch.records {
            if record.kind == .created {
                lives[record.session] = Life(generation: record.generation)
            }
            lives[record.session]?.records.append(record)
            if record.kind == .deleted { lives[record.session]?.isDeleted = true }
        }
        // A snapshot of a generation that the same batch ended is removed with it.
        for snapshot in batch.snapshots
        where lives[snapshot.session]?.generation == snapshot.generation {
            lives[snapshot.session]?.snapshots.append(snapshot)
        }
    }
}

/// Random batches that continue a model. The same seed gives the same batches.
package struct BatchMaker {
    package var random: SeededGenerator
    package var sessions: Int
    /// The beginning of the sessions' ids.
    package var prefix: String
    package var generations = 0

    package init(seed: UInt64, sessions: Int, prefix: String = "s") {
        random = SeededGenerator(seed: seed)
        self.sessions = sessions
        self.prefix = prefix
    }

    package mutating func batch(_ model: JournalModel, records: ClosedRange<Int>) -> Batch {
        var batch = Batch()
        var ahead = model
        for _ in 0..<Int.random(in: records, using: &random) {
            var step = step("\(prefix)\(Int.random(in: 0..<sessions, using: &random))", ahead)
            ahead.apply(step)
            // Several steps of a session are one part of the batch.
            step.expected.removeAll { end in
                batch.expected.contains { $0.key == end.key }
                    || batch.runs.contains { $0.key == end.key }
            }
            batch.append(step)
            step = Batch()
        }
        return batch
    }

    private mutating func step(_ session: String, _ model: JournalModel) -> Batch {
        guard let life = model.lives[session], !life.isDeleted else {
            generations += 1
            return Batch(records: [.created(session, "g\(generations)")])
        }
        var batch = Batch()
        let key = SessionKey(session: session, generation: life.generation)
        let end = life.records.last?.position ?? HistoryPosition(0)
        switch Int.random(in: 0..<100, using: &random) {
        case 0:
            batch = Batch(
                records: [.deleted(session, life.number + 1, generation: life.generation)],
                after: [key: end])
        case 1..<10:
            var note = HistoryEntry.noteEntry(
                session, before: life.number + 1, life.trailingNotes + 1, version: life.version)
            note.generation = life.generation
            batch.records = [note]
        case 10..<15:
            var snapshot = Snapshot.of(session, life.number)
            snapshot.generation = life.generation
            snapshot.version = life.version
            batch.snapshots = [snapshot]
            batch.expected = [ExpectedEnd(key, at: end, lineage: 0)]
        case let number:
            // Sometimes large enough to skip the tail.
            let padding = number < 85 ? 0 : Int.random(in: 500...3_000, using: &random)
            let mutation = HistoryEntry.mutation(
                session, life.number + 1, version: life.version + 1, generation: life.generation,
                content: "\"\(String(repeating: "x", count: padding))\"")
            batch = Batch(records: [mutation], after: [key: end])
        }
        return batch
    }
}
