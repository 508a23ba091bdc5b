import Storage
import Synchronization

/// The history of a scripted journal, as a standby that lags behind has it, and what
/// was lost of it.
struct ScriptedLosses {
    /// The batches of the era, in order.
    private var batches: [Batch] = []
    /// Every record of the generations that ended with an earlier era, the lost ones included.
    private(set) var earlier: [HistoryEntry] = []
    /// The generations that sessions had when history was lost.
    private(set) var void: Set<SessionKey> = []
    private(set) var era: UInt64 = 1
    fileprivate var watchers: [@Sendable (UInt64) -> Void] = []

    mutating func record(_ batch: Batch) { batches.append(batch) }

    mutating func replaceAll(by batch: Batch) { batches = [batch] }

    /// Begins another era, which lacks the newest batches.
    ///
    /// - Returns: the history of the new era, in which each living session has another generation.
    fileprivate mutating func lose(_ count: Int, _ records: [HistoryEntry]) -> [Batch] {
        era += 1
        var left = Batch()
        for batch in batches.dropLast(count) { left.append(batch) }
        var living: Set<SessionKey> = []
        for record in left.records {
            if record.kind == .created { living.insert(record.key) }
            if record.kind == .deleted { living.remove(record.key) }
        }
        // A deleted session keeps its generation.
        let lost = Set(records.map(\.key))
            .subtracting(Set(left.records.map(\.key)).subtracting(living))
        earlier += records.filter { lost.contains($0.key) }
        void.formUnion(lost)
        return batches.dropLast(count).map { $0.renamingGenerations(of: living, in: era) }
    }

    fileprivate mutating func replaceAll(by all: [Batch]) { batches = all }

    /// The generation that replaces one in this era.
    func name(after generation: String) -> String {
        String(generation.dropFirst()) + String(era % 36, radix: 36)
    }
}

extension Batch {
    fileprivate func renamingGenerations(of living: Set<SessionKey>, in era: UInt64) -> Batch {
        func name(_ session: String, _ generation: String) -> String {
            guard living.contains(SessionKey(session: session, generation: generation)) else {
                return generation
            }
            return String(generation.dropFirst()) + String(era % 36, radix: 36)
        }
        var renamed = self
        renamed.records = records.map { record in
            var record = record
            record.generation = name(record.session, record.generation)
            return record
        }
        for index in renamed.snapshots.indices {
            let one = renamed.snapshots[index]
            renamed.snapshots[index].generation = name(one.session, one.generation)
        }
        for index in renamed.answers.indices {
            let one = renamed.answers[index]
            renamed.answers[index].generation = name(one.session, one.generation)
        }
        for index in renamed.started.indices {
            let one = renamed.started[index]
            renamed.started[index].generation = name(one.session, one.generation)
        }
        for index in renamed.settled.indices {
            let one = renamed.settled[index]
            renamed.settled[index].generation = name(one.session, one.generation)
        }
        for index in renamed.timers.indices {
            let one = renamed.timers[index]
            renamed.timers[index].generation = name(one.session, one.generation)
        }
        for index in renamed.tags.indices {
            let one = renamed.tags[index]
            renamed.tags[index].generation = name(one.session, one.generation)
        }
        return renamed
    }
}

extension ScriptedJournal {
    func watchHistory(_ lost: @escaping @Sendable (UInt64) -> Void) {
        state.withLock { $0.losses.watchers.append(lost) }
    }

    /// A standby without the newest batches is promoted. Pending batches are decided there.
    ///
    /// - Parameter count: The number of batches that are lost.
    func loseHistory(_ count: Int) {
        let (watchers, era) = state.withLock { state in
            state.lose(count)
            return (state.losses.watchers, state.losses.era)
        }
        for lost in watchers { lost(era) }
    }

    var losses: ScriptedLosses { state.withLock { $0.losses } }
}

extension ScriptedJournal.State {
    fileprivate mutating func lose(_ count: Int) {
        let batches = losses.lose(count, records)
        let cuts = removed.cuts
        let left = batches.reduce(into: Batch()) { $0.append($1) }
        edit { $0 = left }
        losses.replaceAll(by: batches)
        // The standby has been trimmed to the same snapshots, if it has them.
        removed.cuts = [:]
        for snapshot in left.snapshots {
            let key = SessionKey(session: snapshot.session, generation: snapshot.generation)
            let isCut = cuts.contains { old, cut in
                old.session == key.session && cut.number == snapshot.number
                    && String(old.generation.dropFirst()) == String(key.generation.dropLast())
            }
            guard isCut else { continue }
            let newest = records.last { $0.key == key && $0.part == 0 }?.number ?? 0
            removed.cuts[key] = RemovedRecords.Removal(
                number: snapshot.number, version: snapshot.version,
                hiddenThrough: min(snapshot.number, max(newest, 1) - 1))
        }
    }
}
