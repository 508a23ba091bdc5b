internal import Storage

/// The decision that is being made: a request, or one mutation of an effect or a source. It can be taken
/// back before anybody has seen anything of it.
///
/// Design: a value that has no JSON, or that passes a limit, shows itself in the middle of a turn: a
/// mutation has been applied, records are begun, effects are ordered. The place that finds it calls
/// ``Session/refuse(_:)`` and continues; the machine looks at ``isRefused`` where its turn, or the
/// mutation, ends, and takes everything back to the mark that it set before. The step also has
/// decisions of other requests of the same round: those stay.
struct Attempt {
    enum Scope {
        /// Nothing is being decided, or the machine keeps its mark itself.
        case none
        /// A request, which is refused as a whole.
        case request
        /// A mutation that no request has made; where it began.
        case mutation(AttemptMark)
        /// No decision: a step is being rolled back, and what is cancelled with it is cancelled at once.
        case rollback
    }

    private(set) var scope = Scope.none
    /// The first reason why the decision has to be taken back.
    private var refusal: ActionRefusal?
    /// Something that an action started has ended. Requests may wait for it, which are answered when the
    /// decision is made.
    var hasSettled = false

    var isRefused: Bool { refusal != nil }

    var isRequest: Bool { if case .request = scope { true } else { false } }

    var isRollback: Bool { if case .rollback = scope { true } else { false } }

    mutating func begin(_ scope: Scope) { self.scope = scope }

    /// The first reason counts.
    mutating func refuse(_ refusal: ActionRefusal) {
        if self.refusal == nil { self.refusal = refusal }
    }

    mutating func takeRefusal() -> ActionRefusal? {
        defer { refusal = nil }
        return refusal
    }
}

/// Where a session stood before a decision that may have to be taken back.
@usableFromInline
struct AttemptMark {
    fileprivate let end: HistoryEnd
    /// Of the state.
    var version: UInt64 { end.version }
    fileprivate let snapshotNumber: UInt64
    fileprivate let hasSettled: Bool
    /// The step that gathered then; nil if there was none.
    fileprivate let step: StepMark?
}

/// How much a step had.
struct StepMark {
    let step: Step
    let end: HistoryEnd
    let runs: Int
    let run: RecordBatch.Mark?
    let snapshots: Int
    let started: Int
    let settled: Int
    let effects: Int

    init(_ step: Step) {
        self.step = step
        end = step.end
        runs = step.batch.runs.count
        run = step.batch.runs.last?.mark
        snapshots = step.batch.snapshots.count
        started = step.batch.started.count
        settled = step.batch.settled.count
        effects = step.effects.count
    }
}

extension Step {
    /// Takes back what was added since the mark. Answers to other requests are no part of it: none
    /// is attached in the middle of a turn.
    fileprivate func takeBack(to mark: StepMark) {
        end = mark.end
        batch.runs.removeLast(batch.runs.count - mark.runs)
        if let run = mark.run, mark.runs > 0 { batch.runs[mark.runs - 1].rollBack(to: run) }
        batch.snapshots.removeLast(batch.snapshots.count - mark.snapshots)
        batch.started.removeLast(batch.started.count - mark.started)
        batch.settled.removeLast(batch.settled.count - mark.settled)
        effects.removeLast(effects.count - mark.effects)
    }

    /// Takes back everything, for a step that was begun since the mark.
    ///
    /// - Parameter end: of the history before it.
    fileprivate func takeBackAll(to end: HistoryEnd) {
        self.end = end
        batch.runs = []
        batch.snapshots = []
        batch.started = []
        batch.settled = []
        effects = []
    }
}

// The attempt is read and changed by calls, although the callers are inlined elsewhere: a property that
// only this module touches needs no check for overlapping access at run time, some 85 instructions a
// time (ADR-0013).
extension Session {
    /// A request begins that is refused as a whole.
    @usableFromInline
    func beginRequest() -> AttemptMark {
        attempt.begin(.request)
        return attemptMark()
    }

    /// The request's turns are over.
    ///
    /// - Returns: why everything since its mark has to be taken back; nil if it stays.
    @usableFromInline
    func endRequest() -> ActionRefusal? {
        attempt.begin(.none)
        return takeRefusal()
    }

    /// Whether the request that is being received is refused already: what follows in it is dropped.
    @usableFromInline
    func isRequestRefused() -> Bool { attempt.isRefused }

    /// A mutation begins, of a request or on its own.
    ///
    /// - Returns: false where it is part of a request that is refused already.
    @usableFromInline
    func admitsMutation() -> Bool {
        guard !attempt.isRequest else { return !attempt.isRefused }
        attempt.begin(.mutation(attemptMark()))
        return true
    }

    /// The mutation has been entered.
    ///
    /// - Returns: whether it stays.
    @usableFromInline
    func endMutation() -> Bool {
        guard !attempt.isRefused else { return false }
        if !attempt.isRequest { attempt.begin(.none) }
        return true
    }

    /// Sets the mark that ``takeBack(to:)`` goes back to.
    func attemptMark() -> AttemptMark {
        // The entry that is being written belongs to the time before the mark.
        table.records.finish()
        let step = uncommitted.last.flatMap { $0.isGathering ? StepMark($0) : nil }
        return AttemptMark(
            end: history.newest, snapshotNumber: persistence?.snapshotNumber ?? 0,
            hasSettled: attempt.hasSettled, step: step)
    }

    /// Refuses the present decision: this request, or this mutation, is taken back as a whole.
    ///
    /// Callable from wherever a machine decides, between the mark and the end of the turn or
    /// mutation. Nothing that is entered after it stays.
    func refuse(_ refusal: ActionRefusal) { attempt.refuse(refusal) }

    /// The decision is made.
    ///
    /// - Returns: why it has to be taken back; nil if it stays.
    func takeRefusal() -> ActionRefusal? {
        // Two accesses: one that lasts while it branches would be checked at run time.
        attempt.isRefused ? attempt.takeRefusal() : nil
    }

    /// Takes back what was decided since the mark: records, notes, events, what is to be committed
    /// and done. The machine takes back its own.
    ///
    /// - Precondition: no answer was attached since, nothing was handed to the journal.
    func takeBack(to mark: AttemptMark) {
        table.records.discard(of: self)
        history.rollBack(to: mark.end)
        persistence?.snapshotNumber = mark.snapshotNumber
        attempt.hasSettled = mark.hasSettled
        // It may have measured a state that is no more.
        stateMeter = StateMeter()
        guard let step = uncommitted.last, step.isGathering else { return }
        if let before = mark.step, before.step === step {
            step.takeBack(to: before)
        } else {
            step.takeBackAll(to: mark.end)
        }
    }
}
