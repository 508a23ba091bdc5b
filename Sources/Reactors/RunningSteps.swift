// The state of a session's asynchronous steps: the running ones, their names and continuations, and
// the names that were cancelled before their step began. It makes no decisions.

final class RunningSteps {
    struct Entry {
        let effectID: EffectID?
        let action: ActionTag
        let frame: EffectFrame?
        // Whether the step is the pause before the next attempt of its action.
        let isPause: Bool
    }

    // The continuations of cancelled steps: they run when the current synchronous part ends.
    struct Continuation {
        let frame: EffectFrame?
        let action: ActionTag
    }

    // Precedent: no session has needed more at the same time; a task costs about a kilobyte.
    static var runningLimit: Int { 1000 }

    // True when no step runs and no continuation is due: the only flag that the hot path reads.
    var isQuiet = true

    private(set) var running: [RunID: Entry] = [:]
    // The number of pauses in `running`.
    private(set) var pauses = 0
    private var named: [EffectID: [RunID]] = [:]
    // The number of unfinished steps and continuations of each action. No entry: settled.
    private var unsettled: [ActionTag: Int] = [:]
    private var due: [Continuation] = []
    private var lastRun: UInt64 = 0

    // The count of cancellations at the last cancellation of a name: it affects every step of this
    // name whose sequence began earlier.
    private var cancelled: [EffectID: UInt64] = [:]
    private var sweepAt = 64
    private(set) var cancellations: UInt64 = 0

    // Pauses have their own limit. Why: a service that is down must not use up the places of other
    // effects.
    var isFull: Bool { running.count - pauses >= Self.runningLimit }

    var isFullOfPauses: Bool { pauses >= Self.runningLimit }

    func isSettled(_ action: ActionTag) -> Bool { unsettled[action] == nil }

    func steps(named id: EffectID) -> [RunID] { named[id] ?? [] }

    func isCancelled(_ id: EffectID, since born: UInt64) -> Bool {
        cancelled[id].map { $0 > born } ?? false
    }

    func begin(
        _ effectID: EffectID?, action: ActionTag, frame: EffectFrame?, isPause: Bool = false
    ) -> RunID {
        lastRun += 1
        let run = RunID(number: lastRun)
        running[run] = Entry(
            effectID: effectID, action: action, frame: frame, isPause: isPause)
        if isPause { pauses += 1 }
        if let effectID { named[effectID, default: []].append(run) }
        hold(action)
        return run
    }

    // Keeps the action unsettled until one more call of `settle`.
    func hold(_ action: ActionTag) {
        unsettled[action, default: 0] += 1
        isQuiet = false
    }

    // Whether the next call of `settle` settles the action.
    func isLast(of action: ActionTag) -> Bool { unsettled[action] == 1 }

    // The action stays unsettled until `settle`: a continuation of the step may start another one.
    func remove(_ run: RunID) -> Entry? {
        guard let entry = running.removeValue(forKey: run) else { return nil }
        if entry.isPause { pauses -= 1 }
        if let id = entry.effectID {
            named[id]?.removeAll { $0 == run }
            if named[id]?.isEmpty == true { named[id] = nil }
        }
        return entry
    }

    func makeDue(_ entry: Entry) {
        due.append(Continuation(frame: entry.frame, action: entry.action))
    }

    func takeDue() -> [Continuation] {
        defer { due.removeAll() }
        return due
    }

    // Records the end of a step with its immediate continuations. Returns true for the last one.
    func settle(_ action: ActionTag) -> Bool {
        guard let count = unsettled[action] else { return false }
        unsettled[action] = count > 1 ? count - 1 : nil
        isQuiet = unsettled.isEmpty
        if isQuiet { cancelled.removeAll() }
        return count == 1
    }

    // Not recorded when quiet: then only parts after the `.cancel` itself wait to begin.
    func noteCancellation(of id: EffectID) -> UInt64 {
        cancellations += 1
        if !isQuiet {
            cancelled[id] = cancellations
            if cancelled.count >= sweepAt { sweep() }
        }
        return cancellations
    }

    // Removes cancellations older than all waiting parts; amortised O(1) each.
    private func sweep() {
        var oldest = cancellations
        for entry in running.values {
            oldest = min(oldest, entry.frame?.born ?? oldest)
        }
        for continuation in due {
            oldest = min(oldest, continuation.frame?.born ?? oldest)
        }
        cancelled = cancelled.filter { $0.value > oldest }
        sweepAt = max(64, cancelled.count * 2)
    }

    // Removes everything. The result has a fixed order: running steps, then unsettled actions.
    func removeAll() -> (runs: [(RunID, Entry)], actions: [ActionTag]) {
        let runs = running.sorted { $0.key.number < $1.key.number }.map { ($0.key, $0.value) }
        let actions = unsettled.keys.sorted { $0.number < $1.number }
        takeBack(to: RunningSteps())
        return (runs, actions)
    }

    // A copy for `takeBack`.
    func copy() -> RunningSteps {
        let copy = RunningSteps()
        copy.takeBack(to: self)
        return copy
    }

    // Assigns the other values, except that numbers are not reused.
    func takeBack(to other: RunningSteps) {
        isQuiet = other.isQuiet
        running = other.running
        pauses = other.pauses
        named = other.named
        unsettled = other.unsettled
        due = other.due
        cancelled = other.cancelled
        sweepAt = other.sweepAt
    }
}
