import Storage
import Synchronization

// The archive of the scripted journal, a slow and simple search over everything: the model of any
// archive's replies. The test decides when, in which order and with which result a query gets its
// reply.
extension ScriptedJournal: Archive {
    func head(of session: String, _ answer: @escaping Answer<SavedHead?>) {
        read(.head, answer) { state in
            Self.saved(session, state)?.head
        }
    }

    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        read(.load, answer) { Self.loaded(session, $0) }
    }

    /// Loads a session at once, as it can be read.
    func loaded(_ session: String) -> SavedSession? {
        state.withLock { Self.loaded(session, $0) }
    }

    private static func loaded(_ session: String, _ state: State) -> SavedSession? {
        guard var saved = saved(session, state) else { return nil }
        state.spoiled[saved.key]?.spoil(&saved)
        return saved
    }

    static func saved(_ session: String, _ state: State) -> SavedSession? {
        let all = state.records.filter { $0.session == session }
        guard let created = all.last(where: { $0.kind == .created }) else { return nil }
        guard !state.removed.forgotten.contains(created.key) else { return nil }
        let life = all.filter { $0.generation == created.generation }
        var found = saved(created.key, created.reactor, life, state)
        found.creation = SessionCreation(content: created.content)
        return found
    }

    private static func saved(
        _ key: SessionKey, _ reactor: String, _ life: [HistoryEntry], _ state: State
    ) -> SavedSession {
        var saved = SavedSession(key: key, reactor: reactor)
        let records = life.filter { $0.part == 0 }
        let kept = state.kept
        saved.isDeleted = records.contains { $0.kind == .deleted }
        saved.end.number = records.last?.number ?? 0
        saved.end.version = records.last?.version ?? 0
        saved.end.notes = UInt32(life.count { $0.number > saved.end.number })
        saved.keptAfter = state.removed.cuts[key]?.number ?? 0
        saved.keptVersion = state.removed.cuts[key]?.version ?? 0
        saved.snapshot = kept.snapshots.last {
            $0.session == key.session && $0.generation == key.generation
        }
        let from = saved.snapshot?.number ?? 0
        saved.mutations = records.filter { $0.kind == .mutation && $0.number > from }.map {
            var mutation = $0
            mutation.events = []
            return mutation
        }
        let mine = kept.started.filter { $0.session == key.session }
        var running: [UInt64: RunningAction] = [:]
        for one in mine where one.generation == key.generation { running[one.action] = one }
        for one in kept.settled
        where one.session == key.session && one.generation == key.generation {
            running[one.action] = nil
        }
        saved.running = running.values.sorted { $0.action < $1.action }
        if !saved.isDeleted {
            saved.timers = state.timers(of: key)
            saved.tags = state.tags(of: key)
        }
        saved.lastAction =
            (life.map(\.action) + mine.map(\.action) + [saved.snapshot?.lastAction ?? 0]).max() ?? 0
        saved.lastTime = (life.map(\.time) + [saved.snapshot?.time ?? 0]).max() ?? 0
        saved.hasStoredAnswers = kept.answers.contains {
            $0.session == key.session && $0.generation == key.generation
        }
        return saved
    }

    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        state.withLock { $0.questions += 1 }
        let count: Answer<[HistoryEntry]> = { [self] result in
            if let found = try? result.get() {
                state.withLock { $0.mostRecordsRead = max($0.mostRecordsRead, found.count) }
            }
            answer(result)
        }
        read(.records, count) { state in
            guard state.ends.isAlive(session) else { return [] }
            return state.records(of: session, after: start, through: last, limit, limitBytes)
        }
    }

    /// The same of a generation that has ended.
    func endedRecords(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        read(.records, answer) { state in
            guard !state.ends.isAlive(session) else { return [] }
            return state.records(of: session, after: start, through: last, limit, limitBytes)
        }
    }

    func endedSnapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        read(.snapshot, answer) { state in
            state.ends.isAlive(session) ? nil : state.snapshot(of: session, at: version)
        }
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        read(.snapshot, answer) { state in
            state.ends.isAlive(session) ? state.snapshot(of: session, at: version) : nil
        }
    }

    func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        read(.stateVersion, answer) { state in
            state.ends.isAlive(session)
                ? state.snapshot(of: session, at: version)?.stateVersion : nil
        }
    }

    func endedStateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        read(.stateVersion, answer) { state in
            state.ends.isAlive(session)
                ? nil : state.snapshot(of: session, at: version)?.stateVersion
        }
    }

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        read(.storedAnswer, answer) { state in
            guard state.ends.isAlive(session) else { return nil }
            return state.kept.answers.last {
                $0.session == session.session && $0.generation == session.generation
                    && $0.key == key
            }
        }
    }

    func timers(of session: SessionKey, _ answer: @escaping Answer<[SessionTimer]>) {
        read(.timers, answer) { $0.ends.isAlive(session) ? $0.timers(of: session) : [] }
    }

    func page(_ range: SessionRange, _ answer: @escaping Answer<[SavedHead]>) {
        read(.page, answer) { state in
            var living: [String: SavedHead] = [:]
            for record in state.records where record.part == 0 {
                var head = SavedHead(key: record.key, reactor: record.reactor)
                head.end = HistoryEnd(number: record.number, version: record.version)
                head.tags = state.tags(of: record.key)
                living[record.session] = head
                if record.kind == .deleted { living[record.session] = nil }
            }
            let heads = living.values.filter { range.contains($0.key.session, of: $0.reactor) }
            return Array(heads.sorted { $0.key.session < $1.key.session }.prefix(range.limit))
        }
    }

    func taggedPage(_ selection: TagSelection, _ answer: @escaping Answer<TaggedPage>) {
        read(.taggedPage, answer) { state in
            var places: [(place: TagPosition, created: HistoryEntry, tags: SessionTags)] = []
            for (row, created) in state.records.filter({ $0.kind == .created }).enumerated() {
                guard state.ends.isAlive(created.key), let tags = state.tags(of: created.key),
                    (tags.all + [.reactor(created.reactor)]).contains(selection.first)
                else { continue }
                places.append((TagPosition(changed: tags.changed, row: Int64(row)), created, tags))
            }
            let rest = places.filter { $0.place < selection.after ?? .end }
                .sorted { $0.place > $1.place }
            var (page, last) = (TaggedPage(), TagPosition.end)
            for (index, one) in rest.enumerated() {
                guard page.heads.count < selection.limit, index < TaggedPage.examined else {
                    page.next = last
                    break
                }
                last = one.place
                let (id, reactor) = (one.created.session, one.created.reactor)
                guard selection.contains(id, of: reactor, one.tags),
                    let head = Self.saved(id, state)?.head
                else { continue }
                page.heads.append(head)
            }
            return page
        }
    }

    private func read<Value: Sendable>(
        _ call: ArchiveCall, _ answer: @escaping Answer<Value>,
        _ find: @escaping @Sendable (State) -> Value
    ) {
        let due = state.withLock { state -> (@Sendable () -> Void)? in
            state.calls.insert(call)
            let question = ArchiveQuestion(call) { state, failure in
                let result: Result<Value, JournalFailure> =
                    (failure ?? state.unreadable).map { .failure($0) } ?? .success(find(state))
                return { answer(result) }
            }
            guard state.isLate else { return question.look(state, nil) }
            state.asked.append(question)
            return nil
        }
        due?()
    }

    // MARK: Late answers

    /// Replies wait for the test from now on, or no longer.
    func setLate(_ isLate: Bool) { state.withLock { $0.isLate = isLate } }

    /// The number of queries without a reply.
    var askedCount: Int { state.withLock { $0.asked.count } }

    /// The most records of an answer.
    var mostRecordsRead: Int { state.withLock { $0.mostRecordsRead } }

    /// The calls so far, whether their replies were late or not.
    var calls: Set<ArchiveCall> { state.withLock { $0.calls } }

    /// How the archive was used so far, with late replies.
    var tally: Set<ArchiveUse> { state.withLock { $0.tally } }

    /// Executes a query with this result; its reply is still pending.
    func look(at index: Int, _ failure: JournalFailure? = nil) {
        state.withLock { state in
            guard state.asked[index].answer == nil else { return }
            state.asked[index].isFailed = failure != nil
            state.asked[index].answer = state.asked[index].look(state, failure)
        }
    }

    /// Sends the reply to a query, independent of earlier ones.
    func answer(at index: Int) {
        look(at: index)
        let question = state.withLock { state in
            let question = state.asked.remove(at: index)
            state.tally.insert(ArchiveUse(call: question.call, isFailed: question.isFailed))
            return question
        }
        question.answer?()
    }

    /// Removes the records of a session up to a snapshot, while it may be active.
    func trim(to snapshot: Snapshot) {
        state.withLock { state in
            let key = SessionKey(session: snapshot.session, generation: snapshot.generation)
            let newest = state.records.last { $0.key == key && $0.part == 0 }?.number ?? 0
            guard snapshot.number > (state.removed.cuts[key]?.number ?? 0) else { return }
            state.removed.cuts[key] = RemovedRecords.Removal(
                number: snapshot.number, version: snapshot.version,
                hiddenThrough: min(snapshot.number, max(newest, 1) - 1))
        }
    }

    /// Makes one generation of a session impossible to rebuild, until ``heal()``.
    func spoil(_ key: SessionKey, _ damage: Damage) {
        state.withLock { $0.spoiled[key] = damage }
    }

    /// Deploys code that can rebuild everything.
    func heal() { state.withLock { $0.spoiled = [:] } }

    /// Removes all records of an ended generation, including its end.
    func forget(_ key: SessionKey) {
        state.withLock { _ = $0.removed.forgotten.insert(key) }
    }
}

extension ScriptedJournal.State {
    func tags(of key: SessionKey) -> SessionTags? {
        kept.tags.last { $0.session == key.session && $0.generation == key.generation }?.tags
    }

    func timers(of key: SessionKey) -> [SessionTimer] {
        var timers: [ExactText: SessionTimer] = [:]
        for one in kept.timers where one.key == key && one.name != SessionTimer.expiryName {
            timers[one.name] = one.timer
        }
        return timers.values.sorted()
    }

    fileprivate func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64,
        _ limit: Int, _ limitBytes: Int
    ) -> [HistoryEntry] {
        var bytes = 0
        var found: [HistoryEntry] = []
        let hidden = removed.hiddenThrough(session)
        for record in records
        where record.key == session && record.position > start && record.number <= last
            && (hidden.map { record.number > $0 } ?? true)
        {
            bytes += record.content.count + record.events.reduce(64) { $0 + $1.data.count }
            guard found.isEmpty || bytes <= limitBytes else { break }
            found.append(record)
            if found.count == limit { break }
        }
        return found
    }

    fileprivate func snapshot(of session: SessionKey, at version: UInt64) -> Snapshot? {
        let first = removed.cuts[session]?.number ?? 0
        return kept.snapshots.last {
            $0.session == session.session && $0.generation == session.generation
                && $0.version <= version && $0.number >= first
        }
    }
}

/// A call of ``Archive``.
enum ArchiveCall: String, CaseIterable {
    case head, load, records, snapshot, stateVersion, storedAnswer, page, taggedPage, timers

    /// Those of one process that has the journal for itself. Lives of a cluster count the others.
    static let ofOneProcess = Set(allCases).subtracting([.stateVersion])
}

/// A reason for which a session can't be rebuilt.
enum Damage: CaseIterable {
    /// A mutation does not decode, or, without one, the snapshot.
    case undecodable
    /// The records do not reach the session's head.
    case short

    func spoil(_ saved: inout SavedSession) {
        switch self {
        case .undecodable where !saved.mutations.isEmpty:
            saved.mutations[0].content = Array("[]".utf8)
        case .undecodable where saved.snapshot != nil:
            saved.snapshot?.state = Array("[]".utf8)
        case .undecodable, .short: saved.end.version += 1
        }
    }
}

/// A call with a late reply, successful or failed.
struct ArchiveUse: Hashable {
    var call: ArchiveCall
    var isFailed: Bool
}

/// A query of the archive: it is executed first and gets its reply later.
struct ArchiveQuestion: Sendable {
    typealias Look = @Sendable (ScriptedJournal.State, JournalFailure?) -> @Sendable () -> Void

    let call: ArchiveCall
    let look: Look
    var answer: (@Sendable () -> Void)?
    var isFailed = false

    init(_ call: ArchiveCall, _ look: @escaping Look) {
        self.call = call
        self.look = look
    }
}

/// Records that retention has removed from the archive; the model still has them.
struct RemovedRecords {
    /// Everything after `number` is kept, and always the newest record.
    struct Removal {
        var number: UInt64
        var version: UInt64
        var hiddenThrough: UInt64
    }

    var cuts: [SessionKey: Removal] = [:]
    /// Generations of which not even the end is kept.
    var forgotten: Set<SessionKey> = []

    /// Nil: nothing is hidden.
    func hiddenThrough(_ key: SessionKey) -> UInt64? {
        forgotten.contains(key) ? .max : cuts[key]?.hiddenThrough
    }
}
