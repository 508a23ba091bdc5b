import Storage
import Synchronization

// What the scripted journal keeps, found by looking at everything: slow, plain, and so the model
// of what any archive has to answer.
extension ScriptedJournal: Archive {
    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        read(answer) { book in
            let all = book.kept.records.filter { $0.session == session }
            guard let created = all.last(where: { $0.kind == .created }) else { return nil }
            let key = SessionKey(session: session, generation: created.generation)
            let life = all.filter { $0.generation == created.generation }
            return Self.saved(key, created.reactor, life, book.kept)
        }
    }

    private static func saved(
        _ key: SessionKey, _ reactor: String, _ life: [Record], _ kept: Batch
    ) -> SavedSession {
        var saved = SavedSession(key: key, reactor: reactor)
        let records = life.filter { $0.part == 0 }
        saved.isDeleted = records.contains { $0.kind == .deleted }
        saved.lastNumber = records.last?.number ?? 0
        saved.lastVersion = records.last?.version ?? 0
        saved.trailingNotes = UInt32(life.count { $0.number > saved.lastNumber })
        saved.keptAfter = records.first.map { $0.number == 0 ? 0 : $0.number - 1 } ?? 0
        saved.snapshot = kept.snapshots.last {
            $0.session == key.session && $0.generation == key.generation
        }
        let from = saved.snapshot?.number ?? 0
        saved.mutations = records.filter { $0.kind == .mutation && $0.number > from }
        let mine = kept.started.filter { $0.session == key.session }
        saved.running = mine.filter { one in
            one.generation == key.generation
                && !kept.settled.contains {
                    $0.session == one.session && $0.generation == one.generation
                        && $0.action == one.action
                }
        }
        saved.lastAction =
            (life.map(\.action) + mine.map(\.action) + [saved.snapshot?.lastAction ?? 0]).max() ?? 0
        saved.hasStoredAnswers = kept.answers.contains { $0.session == key.session }
        return saved
    }

    func records(
        of session: SessionKey, after start: RecordPlace, through last: UInt64, limitBytes: Int,
        _ answer: @escaping Answer<[Record]>
    ) {
        book.withLock { $0.questions += 1 }
        read(answer) { book in
            var bytes = 0
            var found: [Record] = []
            for record in book.kept.records
            where record.session == session.session && record.generation == session.generation
                && RecordPlace(record.number, part: record.part) > start && record.number <= last
            {
                bytes += record.content.count + record.events.reduce(64) { $0 + $1.data.count }
                guard found.isEmpty || bytes <= limitBytes else { break }
                found.append(record)
            }
            return found
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        read(answer) { book in
            book.kept.snapshots.last {
                $0.session == session.session && $0.generation == session.generation
                    && $0.version <= version
            }
        }
    }

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        read(answer) { book in
            book.kept.answers.last {
                $0.session == session.session && $0.generation == session.generation
                    && $0.key == key
            }
        }
    }

    func page(
        after id: String?, limit: Int, reactor: String?, _ answer: @escaping Answer<[SavedLine]>
    ) {
        read(answer) { _ in [] }
    }

    private func read<Value>(_ answer: Answer<Value>, _ find: (Book) -> Value) {
        let result = book.withLock { book in
            book.unreadable.map { Result<Value, JournalFailure>.failure($0) }
                ?? .success(find(book))
        }
        answer(result)
    }
}
