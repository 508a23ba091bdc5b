import Storage

/// The ends of all sessions, for the decision which part of a batch continues them: the model
/// for any journal.
struct ScriptedEnds {
    /// The law of a journal, and ways to break it.
    struct Rules: OptionSet {
        let rawValue: Int

        /// A run continues the end of its session.
        static let places = Rules(rawValue: 1)
        /// A part without records expects the end of its session.
        static let expectations = Rules(rawValue: 2)
        /// A part that was decided upon a lost one is lost, wherever the session ends by then.
        static let lineages = Rules(rawValue: 4)

        static let each: [Rules] = [.places, .expectations, .lineages]
        static let all = Rules(each)
    }

    private struct End {
        var generation: String
        var position: HistoryPosition
        var isDeleted = false
    }

    struct Lineage: Hashable {
        var key: SessionKey
        var number: UInt64
    }

    /// Of the newest generation of each session.
    private var ends: [String: End] = [:]
    private var lost: Set<Lineage> = []

    mutating func advance(by record: HistoryEntry) {
        ends[record.session] = End(
            generation: record.generation, position: record.position,
            isDeleted: record.kind == .deleted)
    }

    /// No part that depends on a part of this batch is accepted. A part without records is lost
    /// alone.
    mutating func lose(_ batch: Batch) {
        for run in batch.runs where run.lineage != 0 {
            lost.insert(Lineage(key: run.key, number: run.lineage))
        }
    }

    /// Whether the generation is the newest one of its session, and has not ended.
    func isAlive(_ key: SessionKey) -> Bool {
        ends[key.session].map { $0.generation == key.generation && !$0.isDeleted } ?? false
    }

    mutating func forgetLineages() { lost = [] }

    /// Several processes number their lineages independently.
    mutating func exchangeLost(_ other: inout Set<Lineage>) { swap(&lost, &other) }

    func refusals(_ batch: Batch, _ rules: Rules) -> [SessionKey: CommitRefusal] {
        var refused: [SessionKey: CommitRefusal] = [:]
        for end in batch.expected where rules.contains(.expectations) {
            refused[end.key] = refusal(of: end, rules)
        }
        var ahead = self
        for run in batch.runs where refused[run.key] == nil {
            refused[run.key] = ahead.refusal(of: run, rules)
            ahead.ends[run.key.session] = End(
                generation: run.key.generation, position: run.last, isDeleted: run.deleted != nil)
        }
        return refused
    }

    private func refusal(of end: ExpectedEnd, _ rules: Rules) -> CommitRefusal? {
        guard let present = ends[end.key.session], present.generation == end.key.generation else {
            return .absent
        }
        if let refusal = refusal(of: end.key, end.lineage, rules) { return refusal }
        guard present.position == end.position else {
            return present.isDeleted ? .absent : .endsAt(present.position)
        }
        return nil
    }

    private func refusal(of run: RecordBatch, _ rules: Rules) -> CommitRefusal? {
        let present = ends[run.key.session]
        guard let after = run.after else { return present?.isDeleted ?? true ? nil : .exists }
        guard rules.contains(.places) else { return nil }
        guard let present, present.generation == run.key.generation, !present.isDeleted else {
            return .absent
        }
        if let refusal = refusal(of: run.key, run.lineage, rules) { return refusal }
        return after == present.position ? nil : .endsAt(present.position)
    }

    private func refusal(of key: SessionKey, _ lineage: UInt64, _ rules: Rules) -> CommitRefusal? {
        guard rules.contains(.lineages), lost.contains(Lineage(key: key, number: lineage)) else {
            return nil
        }
        return .lostLineage
    }
}

/// A kind of verdict, to count which of them a simulation has met.
enum ScriptedVerdict: Hashable, CaseIterable {
    case committed
    /// All of several parts, or the only one.
    case refused
    /// One part and not another.
    case partial
    case failed
    case unknown
    case unknownAndWritten

    init(_ failure: JournalFailure, isWritten: Bool) {
        guard failure.reason == .outcomeUnknown else {
            self = .failed
            return
        }
        self = isWritten ? .unknownAndWritten : .unknown
    }

    init(_ verdict: Verdict, of batch: Batch) {
        guard case .partial(let refused) = verdict else {
            self = .committed
            return
        }
        self = batch.keys.isSubset(of: refused.keys) ? .refused : .partial
    }
}

extension Batch {
    /// The sessions that have a part in it.
    var keys: Set<SessionKey> { Set(runs.map(\.key) + expected.map(\.key)) }

    /// The parts of these sessions.
    func only(_ some: [SessionKey: CommitRefusal]) -> Batch {
        removing(
            keys.subtracting(some.keys).reduce(into: [:]) { others, key in others[key] = .absent })
    }
}
