// The book of a session's asynchronous steps: which run, under which name, what follows each, which
// names were cancelled before their step began. Decides nothing.

final class RunningSteps {
    struct Entry {
        let effectID: EffectID?
        let action: ActionTag
        // The continuation of the step, `nil` if there is none.
        let frame: EffectFrame?
    }

    // Continuations of cancelled steps: they run when the present synchronous part ends.
    struct Continuation {
        let frame: EffectFrame?
        let action: ActionTag
    }

    // Precedent: no session of ours needs more at once; a task costs about a kilobyte.
    static var runningLimit: Int { 1000 }

    // Invariant: true when nothing runs and nothing is due: the hot path asks this and nothing else.
    var isQuiet = true

    private(set) var running: [RunID: Entry] = [:]
    private var named: [EffectID: [RunID]] = [:]
    // How many steps and continuations of an action are not over. No entry: settled.
    private var unsettled: [ActionTag: Int] = [:]
    private var due: [Continuation] = []
    private var lastRun: UInt64 = 0

    // When a name was last cancelled, by the count of cancellations: reaches every step of this
    // name whose sequence was begun earlier.
    private var cancelled: [EffectID: UInt64] = [:]
    private var sweepAt = 64
    private(set) var cancellations: UInt64 = 0

    var isFull: Bool { running.count >= Self.runningLimit }

    func isSettled(_ action: ActionTag) -> Bool { unsettled[action] == nil }

    func steps(named id: EffectID) -> [RunID] { named[id] ?? [] }

    func isCancelled(_ id: EffectID, since born: UInt64) -> Bool {
        cancelled[id].map { $0 > born } ?? false
    }

    func begin(
        _ effectID: EffectID?, action: ActionTag, frame: EffectFrame?
    ) -> RunID {
        lastRun += 1
        let run = RunID(number: lastRun)
        running[run] = Entry(effectID: effectID, action: action, frame: frame)
        if let effectID { named[effectID, default: []].append(run) }
        unsettled[action, default: 0] += 1
        isQuiet = false
        return run
    }

    // The action stays unsettled until `settle`: what follows the step may begin another.
    func remove(_ run: RunID) -> Entry? {
        guard let entry = running.removeValue(forKey: run) else { return nil }
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

    // One step of the action is over, with all that followed at once. True: it was the last.
    func settle(_ action: ActionTag) -> Bool {
        guard let count = unsettled[action] else { return false }
        unsettled[action] = count > 1 ? count - 1 : nil
        isQuiet = unsettled.isEmpty
        if isQuiet { cancelled.removeAll() }
        return count == 1
    }

    // Why not when quiet: then nothing waits to begin but what comes after the `.cancel` itself.
    func noteCancellation(of id: EffectID) -> UInt64 {
        cancellations += 1
        if !isQuiet {
            cancelled[id] = cancellations
            if cancelled.count >= sweepAt { sweep() }
        }
        return cancellations
    }

    // Forgets cancellations that nothing which waits is old enough for; amortised O(1) each.
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

    // The earlier values are restored, but numbers are not used twice.
    func takeBack(to earlier: RunningSteps) {
        assign(earlier)
    }

    // Everything is forgotten. The answer is in a fixed order: what runs, then what was unsettled.
    func removeAll() -> (runs: [(RunID, Entry)], actions: [ActionTag]) {
        let runs = running.sorted { $0.key.number < $1.key.number }.map { ($0.key, $0.value) }
        let actions = unsettled.keys.sorted { $0.number < $1.number }
        assign(RunningSteps())
        return (runs, actions)
    }

    // As they are now, for `takeBack`.
    func copy() -> RunningSteps {
        let copy = RunningSteps()
        copy.assign(self)
        return copy
    }

    // All but the numbers that are counted on.
    private func assign(_ other: RunningSteps) {
        isQuiet = other.isQuiet
        running = other.running
        named = other.named
        unsettled = other.unsettled
        due = other.due
        cancelled = other.cancelled
        sweepAt = other.sweepAt
    }
}
