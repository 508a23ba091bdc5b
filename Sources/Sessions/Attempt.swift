internal import Feeds
internal import Storage

/// The decision that is being made: a request, or one mutation of an effect or a source. It can be
/// undone before any of it is visible.
///
/// Design: a value that has no JSON or exceeds a limit is found in the middle of a turn: a mutation
/// has been applied, records are begun, effects are ordered. The code that finds it calls
/// ``Session/refuse(_:)`` and continues. The machine checks ``isRefused`` at the end of its turn,
/// or of the mutation, and undoes everything back to the mark that it set before. Decisions of
/// other requests in the same step stay.
struct Attempt {
    enum Scope {
        /// No decision is being made, or the machine keeps the mark itself.
        case none
        /// A request, which is refused as a whole.
        case request
        /// A mutation that no request has made, with the mark of its begin.
        ///
        /// Why indirect: otherwise each session has room for a mark all the time.
        indirect case mutation(AttemptMark)
        /// No decision: a step is being rolled back, and its effects are cancelled at once.
        case rollback
    }

    private(set) var scope = Scope.none
    /// The first reason to undo the decision.
    private var refusal: ActionRefusal?
    /// Whether an effect of an action has ended. Requests that wait for it are answered when the
    /// decision is made.
    var hasSettled = false
    /// Whether an effect has ended the session in this turn.
    var endsSession = false

    var isRefused: Bool { refusal != nil }

    var isRequest: Bool { if case .request = scope { true } else { false } }

    var isRollback: Bool { if case .rollback = scope { true } else { false } }

    mutating func begin(_ scope: Scope) { self.scope = scope }

    /// Later reasons are ignored.
    mutating func refuse(_ refusal: ActionRefusal) {
        if self.refusal == nil { self.refusal = refusal }
    }

    mutating func takeRefusal() -> ActionRefusal? {
        defer { refusal = nil }
        return refusal
    }
}

/// A session's position before a decision that may have to be undone.
@usableFromInline
struct AttemptMark {
    fileprivate let end: HistoryEnd
    /// Of the state.
    var version: UInt64 { end.version }
    fileprivate let snapshots: SnapshotTally?
    fileprivate let hasSettled: Bool
    fileprivate let timers: SessionTimers
    fileprivate let endsSession: Bool
    /// The step that was collecting decisions; nil if there was none.
    fileprivate let step: StepMark?
}

/// The number of items that a step has.
struct StepMark {
    let step: Step
    let end: HistoryEnd
    let runs: Int
    let run: RecordBatch.Mark?
    let snapshots: Int
    let started: Int
    let settled: Int
    let timers: Int
    let timersBefore: SessionTimers?
    let effects: Int

    init(_ step: Step) {
        self.step = step
        end = step.end
        runs = step.batch.runs.count
        run = step.batch.runs.last?.mark
        snapshots = step.batch.snapshots.count
        started = step.batch.started.count
        settled = step.batch.settled.count
        timers = step.batch.timers.count
        timersBefore = step.timersBefore
        effects = step.effects.count
    }
}

extension Step {
    /// Removes the items that were added since the mark. Replies stay: none is attached in the
    /// middle of a turn.
    fileprivate func takeBack(to mark: StepMark) {
        end = mark.end
        batch.runs.removeLast(batch.runs.count - mark.runs)
        if let run = mark.run, mark.runs > 0 { batch.runs[mark.runs - 1].rollBack(to: run) }
        batch.snapshots.removeLast(batch.snapshots.count - mark.snapshots)
        batch.started.removeLast(batch.started.count - mark.started)
        batch.settled.removeLast(batch.settled.count - mark.settled)
        batch.timers.removeLast(batch.timers.count - mark.timers)
        timersBefore = mark.timersBefore
        effects.removeLast(effects.count - mark.effects)
    }

    /// Removes all items, for a step that was begun since the mark.
    ///
    /// - Parameter end: the end of the history before the step.
    fileprivate func takeBackAll(to end: HistoryEnd) {
        self.end = end
        batch.runs = []
        batch.snapshots = []
        batch.started = []
        batch.settled = []
        batch.timers = []
        timersBefore = nil
        effects = []
    }
}

// The attempt is read and changed through functions, because their callers are inlined into other
// modules: a property that is used in this module alone needs no check for overlapping access at
// run time, which costs about 85 instructions (ADR-0013).
extension Session {
    /// Begins a request, which is refused as a whole if any part of it is refused.
    @usableFromInline
    func beginRequest() -> AttemptMark {
        attempt.begin(.request)
        return attemptMark()
    }

    /// Ends the request.
    ///
    /// - Returns: why everything since its mark has to be undone; nil if it stays.
    @usableFromInline
    func endRequest() -> ActionRefusal? {
        attempt.begin(.none)
        return takeRefusal()
    }

    /// Whether the request that is being received is refused already: the rest of it is dropped.
    @usableFromInline
    func isRequestRefused() -> Bool { attempt.isRefused }

    /// Begins a mutation of a request, of an effect or of a source.
    ///
    /// - Returns: false if the mutation is part of a request that is refused already.
    @usableFromInline
    func admitsMutation() -> Bool {
        guard !attempt.isRequest else { return !attempt.isRefused }
        attempt.begin(.mutation(attemptMark()))
        return true
    }

    /// Ends the mutation.
    ///
    /// - Returns: whether it stays.
    @usableFromInline
    func endMutation() -> Bool {
        guard !attempt.isRefused else { return false }
        if !attempt.isRequest { attempt.begin(.none) }
        return true
    }

    /// The mark for ``takeBack(to:)``.
    func attemptMark() -> AttemptMark {
        // The open record precedes the mark.
        records.finish()
        let step = uncommitted.last.flatMap { $0.isGathering ? StepMark($0) : nil }
        return AttemptMark(
            end: history.newest, snapshots: persistence?.snapshots,
            hasSettled: attempt.hasSettled, timers: timers, endsSession: attempt.endsSession,
            step: step)
    }

    /// Refuses the present decision: the request, or the mutation, is undone as a whole, with
    /// everything that is added after this call.
    ///
    /// May be called anywhere between the mark and the end of the turn or mutation.
    func refuse(_ refusal: ActionRefusal) { attempt.refuse(refusal) }

    /// Ends the decision.
    ///
    /// - Returns: why it has to be undone; nil if it stays.
    func takeRefusal() -> ActionRefusal? {
        // Two accesses: a single one that spans the branch would be checked at run time.
        attempt.isRefused ? attempt.takeRefusal() : nil
    }

    /// Undoes the decisions since the mark: records, notes, events, and the items of the step. The
    /// machine undoes its own changes.
    ///
    /// - Precondition: since the mark no reply was attached and no step was submitted
    ///   to the journal.
    func takeBack(to mark: AttemptMark) {
        records.discard(of: self)
        history.rollBack(to: mark.end)
        if let snapshots = mark.snapshots { persistence?.snapshots = snapshots }
        attempt.hasSettled = mark.hasSettled
        timers = mark.timers
        attempt.endsSession = mark.endsSession
        meters.state.takeBack()
        guard let step = uncommitted.last, step.isGathering else { return }
        if let before = mark.step, before.step === step {
            step.takeBack(to: before)
        } else {
            step.takeBackAll(to: mark.end)
        }
    }
}
