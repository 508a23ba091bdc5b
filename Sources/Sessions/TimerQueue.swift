internal import Feeds
internal import Storage

/// The sessions of a loop that have timers: those that are awake, and those that sleep and whose
/// next timer is due within a minute. The timers themselves are in the sessions.
///
/// Invariant: an entry is only a hint. A session without a timer that is due ignores it. So an
/// early or repeated entry does no harm. The next ``TimerSearch`` finds a missing one.
package final class TimerQueue {
    /// When each session's next timer is due: milliseconds since 1970, by the journal's clock.
    private var dues: [SessionID: Int64] = [:]
    /// A binary heap with the earliest entry first. Entries that differ from `dues` are obsolete.
    private var heap: [(due: Int64, id: SessionID)] = []
    /// How many milliseconds to wait although timers are due, because the last pass had no room.
    package private(set) var pause: Int64 = 0
    /// When timers fire again after a failed commit.
    private var resumes = Int64.min
    package private(set) var firedCount: UInt64 = 0
    /// The sessions whose late timer this process has counted. Why only once: three counts mean
    /// that three processes ended. If a commit fails, or the session is evicted before the timer
    /// fires, this process has not ended. Emptied at 65 536; then it may count a timer again.
    private var counted: Set<SessionID> = []

    /// Sleeping sessions have an entry if they are due within this many milliseconds.
    package static let horizon: Int64 = 60_000

    /// When the next entry is due; nil if there is none.
    package var next: Int64? { heap.first?.due }

    package var count: Int { dues.count }

    func set(_ id: SessionID, due: Int64) {
        guard dues.updateValue(due, forKey: id) != due else { return }
        push(due, id)
    }

    /// Adds an entry unless there is an earlier one.
    func expect(_ id: SessionID, due: Int64) {
        if let known = dues[id], known <= due { return }
        set(id, due: due)
    }

    func remove(_ id: SessionID) {
        guard dues.removeValue(forKey: id) != nil else { return }
        drop()
    }

    /// The session has left memory. Keeps its entry only if it is due soon.
    func left(_ id: SessionID, at now: Int64) {
        if let due = dues[id], due >= now + Self.horizon { remove(id) }
    }

    func removeAll() {
        dues = [:]
        heap = []
    }

    func beginPass() { pause = 0 }

    func lacksRoom() { pause = max(pause, 20) }

    /// The journal has failed, and will probably fail for other sessions too.
    func failed(at now: Int64) { resumes = now + Self.rest }

    /// The journal has committed a change of timers.
    func succeeded() { resumes = .min }

    /// Milliseconds until timers fire again after a failure; 0 if the clock was set back meanwhile.
    func rest(at now: Int64) -> Int64 {
        guard resumes > now, resumes - now <= Self.rest else { return 0 }
        return resumes - now
    }

    /// The time between a failure and the next attempt.
    static let rest: Int64 = 1_000

    func countFired() { firedCount += 1 }

    /// - Returns: whether this process counts the late timer of the session now.
    func countLate(_ id: SessionID) -> Bool {
        if counted.count >= 65_536 { counted = [] }
        return counted.insert(id).inserted
    }

    /// The late timer has fired, or is postponed.
    func forgetLate(_ id: SessionID) { counted.remove(id) }

    /// Removes the first entry if it is due.
    func dequeue(at now: Int64) -> SessionID? {
        guard let first = heap.first, first.due <= now else { return nil }
        dues[first.id] = nil
        drop()
        return first.id
    }

    // MARK: The heap

    /// Removes obsolete entries from the top, or all of them if they are the majority.
    private func drop() {
        while let first = heap.first, dues[first.id] != first.due { pop() }
        guard heap.count > 2 * dues.count + 64 else { return }
        heap = dues.map { ($0.value, $0.key) }.sorted { $0.due < $1.due }
    }

    private func push(_ due: Int64, _ id: SessionID) {
        heap.append((due, id))
        var child = heap.count - 1
        while child > 0, case let parent = (child - 1) / 2, heap[child].due < heap[parent].due {
            heap.swapAt(child, parent)
            child = parent
        }
        drop()
    }

    private func pop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while case let left = 2 * parent + 1, left < heap.count {
            let right = left + 1
            let child = right < heap.count && heap[right].due < heap[left].due ? right : left
            guard heap[child].due < heap[parent].due else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}

extension SessionTable {
    /// The earliest and the latest time that the journal's clock may show.
    var journalTime: ClosedRange<Int64> { journal.clock(time) }

    /// The time by which timers are due: never ahead of the journal's clock.
    var timerTime: Int64 { journalTime.lowerBound }

    /// How long until a timer is due, in milliseconds; nil if there is none. The clock may be set
    /// meanwhile, so ask again after a second.
    package var timerWait: Int64? {
        guard let next = timers.next else { return nil }
        let now = timerTime
        // A journal that another program has changed may have any number.
        return max(max(next, 0) - now, timers.pause, timers.rest(at: now))
    }

    /// Fires some of the timers that are due, the earliest first. Loads sessions that are not in
    /// memory. The next call fires the others.
    package func fireTimers() {
        timers.beginPass()
        let now = timerTime
        guard timers.rest(at: now) == 0 else { return }
        for _ in 0..<Self.timersOfPass {
            guard commits.hasRoom, !pass.isUsedUp else { return timers.lacksRoom() }
            guard let id = timers.dequeue(at: now) else { return }
            if let session = awake(id) {
                session.fireTimer(at: now)
                expiry.lookIfDue(session, at: now)
                session.waitForTimer()
            } else {
                loads.reload([id], in: self)
            }
        }
    }

    private static let timersOfPass = 256

    /// Adds sleeping sessions that have timers. Those whose timers are already due are loaded, a
    /// few at a time, and then fire.
    ///
    /// - Parameter done: Called once, on this loop, when each of these is loaded or has failed to
    ///   load; never if the process ends first.
    package func expectTimers(
        _ found: [DueTimer], then done: @escaping () -> Void
    ) {
        let now = timerTime
        for one in found {
            if let session = awake(one.id) {
                session.waitForTimer()
            } else if one.due > now {
                timers.expect(one.id, due: one.due)
            }
        }
        wakeWorking(found.filter { $0.due <= now }.map(\.id), then: done)
    }
}
