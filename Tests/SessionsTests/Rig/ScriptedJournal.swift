import Storage
import Synchronization

/// A journal that commits on demand of the test, and outlives the table that uses it. Other
/// processes may write to it too.
///
/// Like any journal it refuses the parts of a batch that do not continue its records: a part that
/// was decided upon a failed one may be pending before its session knows of the failure.
final class ScriptedJournal: Journal {
    typealias Ended = @Sendable (Verdict) -> Void

    struct State {
        var isImmediate: Bool
        var pending: [(batch: Batch, ended: Ended)] = []
        private(set) var kept = Batch()
        /// The entries of `kept`, decoded once.
        private(set) var records: [HistoryEntry] = []
        var ends = ScriptedEnds()
        var unreadable: JournalFailure?
        /// How often records were requested.
        var questions = 0
        /// The most records of an answer.
        var mostRecordsRead = 0
        /// Whether a reply waits for the test.
        var isLate = false
        /// Pending queries, oldest first.
        var asked: [ArchiveQuestion] = []
        /// Records that were removed although they are in `kept`.
        var removed = RemovedRecords()
        /// Generations that can't be rebuilt.
        var spoiled: [SessionKey: Damage] = [:]
        /// The calls so far, and their results.
        var tally: Set<ArchiveUse> = []
        var calls: Set<ArchiveCall> = []
        /// The verdicts so far.
        var verdicts: Set<ScriptedVerdict> = []
        var refusedKeys: Set<SessionKey> = []
        /// The work of the process before.
        var interrupted: [InterruptedWork] = []
        var losses = ScriptedLosses()
        /// How much the journal's clock may differ from the machine's, in milliseconds.
        var clockError: Int64 = 0

        init(isImmediate: Bool) { self.isImmediate = isImmediate }

        mutating func keep(_ batch: Batch) {
            losses.record(batch)
            kept.append(batch)
            let new = batch.records
            records += new
            for record in new { ends.advance(by: record) }
        }

        /// Keeps the parts that continue the records.
        ///
        /// - Returns: the others.
        mutating func keepContinuing(
            _ batch: Batch, _ rules: ScriptedEnds.Rules
        ) -> [SessionKey: CommitRefusal] {
            let refused = ends.refusals(batch, rules)
            refusedKeys.formUnion(refused.keys)
            ends.lose(refused.isEmpty ? Batch() : batch.only(refused))
            keep(refused.isEmpty ? batch : batch.removing(refused))
            return refused
        }

        mutating func edit(_ change: (inout Batch) -> Void) {
            change(&kept)
            losses.replaceAll(by: kept)
            records = kept.records
            ends = ScriptedEnds()
            for record in records { ends.advance(by: record) }
        }
    }

    let name = "scripted"
    let keepsRecords: Bool
    var archive: (any Archive)? { answers ? self : nil }
    var failure: JournalFailure? { nil }
    let answers: Bool
    private let rules: ScriptedEnds.Rules
    let state: Mutex<State>
    let backlog = ExpiryBacklog()
    var expiries: ExpiryBacklog? { answers ? backlog : nil }

    /// - Parameters:
    ///   - answers: false keeps records for the test alone: nobody can read them.
    ///   - rules: others are those of a journal that breaks the law.
    init(
        isImmediate: Bool, keepsRecords: Bool = true, answers: Bool = false,
        rules: ScriptedEnds.Rules = .all
    ) {
        self.answers = answers
        self.rules = rules
        self.keepsRecords = keepsRecords
        state = Mutex(State(isImmediate: isImmediate))
    }

    func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        state.withLock { state -> Commit in
            // The journal's rule: batches end in order, so none overtakes a pending one.
            guard state.isImmediate, state.pending.isEmpty,
                state.ends.refusals(batch, rules).isEmpty
            else {
                state.pending.append((batch, ended))
                return .pending
            }
            state.keep(batch)
            return .done
        }
    }

    func clock(_ wall: Int64) -> ClosedRange<Int64> {
        let error = state.withLock { $0.clockError }
        return wall - error...wall + error
    }

    /// Makes every commit complete at once, or wait for the test.
    func setImmediate(_ isImmediate: Bool) {
        state.withLock { $0.isImmediate = isImmediate }
    }

    /// Makes every read fail, or (nil) succeed, from now on.
    func setUnreadable(_ failure: JournalFailure?) {
        state.withLock { $0.unreadable = failure }
    }

    /// The number of submitted batches that have not ended.
    var pendingCount: Int { state.withLock { $0.pending.count } }

    /// Every committed record, in order, without notes.
    var kept: [HistoryEntry] { all.filter { $0.kind != .note } }

    /// Every committed record and note, in order.
    var all: [HistoryEntry] { state.withLock { $0.records } }

    /// Everything that was committed.
    var keptBatch: Batch { state.withLock { $0.kept } }

    /// Changes the kept records without the sessions' knowledge.
    func edit(_ change: (inout Batch) -> Void) {
        state.withLock { $0.edit(change) }
    }

    /// Ends the oldest pending batch: with a failure, or with the parts refused that do not
    /// continue the records.
    ///
    /// - Parameter isWritten: it is kept although it fails: the failure came after the write.
    func endNext(_ failure: JournalFailure? = nil, isWritten: Bool = false) {
        let ending = state.withLock { state -> (Ended, Verdict)? in
            guard !state.pending.isEmpty else { return nil }
            let first = state.pending.removeFirst()
            if let failure {
                if isWritten {
                    _ = state.keepContinuing(first.batch, rules)
                } else {
                    state.ends.lose(first.batch)
                }
                state.verdicts.insert(ScriptedVerdict(failure, isWritten: isWritten))
                return (first.ended, .failed(failure))
            }
            let verdict = Verdict(refusing: state.keepContinuing(first.batch, rules))
            state.verdicts.insert(ScriptedVerdict(verdict, of: first.batch))
            return (first.ended, verdict)
        }
        if let (ended, verdict) = ending { ended(verdict) }
    }

    /// Carries out a batch of one of several processes.
    ///
    /// - Parameters:
    ///   - fenced: its parts that are refused for another reason.
    ///   - lost: the process's lineages of which a part was refused.
    func write(
        _ batch: Batch, without fenced: [SessionKey: CommitRefusal],
        _ lost: inout Set<ScriptedEnds.Lineage>
    ) -> Verdict {
        state.withLock { state in
            state.ends.exchangeLost(&lost)
            defer { state.ends.exchangeLost(&lost) }
            state.ends.lose(batch.only(fenced))
            var refused = state.keepContinuing(batch.removing(fenced), rules)
            refused.merge(fenced) { _, fenced in fenced }
            return Verdict(refusing: refused)
        }
    }

    /// Writes the oldest pending batch; calling the result reports its end. Readers see the records
    /// before their session knows of them.
    func writeNext() -> () -> Void {
        state.withLock { state in
            let first = state.pending.removeFirst()
            state.keep(first.batch)
            return { first.ended(.committed) }
        }
    }

    /// Another process continues sessions.
    func write(foreign records: [HistoryEntry]) {
        state.withLock { $0.keep(Batch(records: records)) }
    }

    /// The process dies: the first `count` pending batches were written, and no end is reported.
    func crash(writing count: Int) {
        state.withLock { state in
            for (batch, _) in state.pending.prefix(count) { _ = state.keepContinuing(batch, rules) }
            state.pending = []
            state.asked = []
            // Another process numbers its own lineages.
            state.ends.forgetLineages()
        }
    }

    /// The sessions that have a part in a batch which has not ended.
    var pendingKeys: Set<SessionKey> {
        state.withLock { state in state.pending.reduce(into: []) { $0.formUnion($1.batch.keys) } }
    }

    /// The sessions of which a part was refused.
    var refusedKeys: Set<SessionKey> { state.withLock { $0.refusedKeys } }

    /// The verdicts so far.
    var verdicts: Set<ScriptedVerdict> { state.withLock { $0.verdicts } }
}

extension JournalFailure {
    static let full = JournalFailure(reason: .full, detail: "no space left")
    static let outcomeUnknown = JournalFailure(
        reason: .outcomeUnknown, detail: "input/output error of a flush")
    static let unavailable = JournalFailure(reason: .unavailable, detail: "input/output error")
}
