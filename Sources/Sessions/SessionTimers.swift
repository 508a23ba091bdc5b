internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Storage
internal import Wire

/// The timers of a session. A value, so that a refused action or a failed commit restores it.
struct SessionTimers {
    /// Invariant: sorted in the order in which they are due.
    private(set) var all: [SessionTimer]

    init(_ saved: [SessionTimer] = []) { all = saved }

    /// When the first one is due; nil: there is none.
    var next: Int64? { all.first?.due }

    /// - Parameter limitBytes: The bound of the JSON of all actions together.
    /// - Returns: false if there are too many.
    mutating func set(_ timer: SessionTimer, limitBytes: Int) -> Bool {
        remove(timer.name)
        let bytes = all.reduce(timer.content.count) { $0 + $1.content.count }
        guard all.count < TimerBounds.count, bytes <= limitBytes else { return false }
        all.insert(timer, at: all.firstIndex { $0 > timer } ?? all.count)
        return true
    }

    /// - Returns: whether there was one.
    @discardableResult
    mutating func remove(_ name: ExactText) -> Bool {
        guard let index = all.firstIndex(where: { $0.name == name }) else { return false }
        all.remove(at: index)
        return true
    }
}

extension SessionTimer {
    /// The sentence that reports an action that the program can no longer read.
    func isUnreadable(_ refusal: JSONRefusal) -> String {
        "the action of the timer \(name.text) can't be read any more: \(refusal.sentence)"
    }

    /// Appends `{"name":…,"number":…,"due":…`.
    func appendHead(to out: inout [UInt8]) {
        out.append(contentsOf: "{\"name\":".utf8)
        JSON.appendString(name.text, to: &out)
        out.append(contentsOf: ",\"number\":\(number),\"due\":\"".utf8)
        Timestamp.append(milliseconds: due, to: &out)
        out.append(UInt8(ascii: "\""))
    }
}

extension Session {
    // MARK: Decisions

    /// Sets a timer in the present step. It replaces one of the same name.
    ///
    /// - Parameter content: The timer's action as JSON.
    /// - Returns: false if there are too many timers. Then nothing is changed.
    func setTimer(
        _ name: EffectID, _ time: TimerTime, _ content: [UInt8], by action: ActionTag
    ) -> Bool {
        let due =
            switch time {
            case .at(let milliseconds): milliseconds
            case .after(let delay):
                min(
                    table.journalTime.upperBound + TimerTime.milliseconds(delay),
                    TimerTime.limit)
            }
        let timer = SessionTimer(
            name: ExactText(name.name), number: action.number, due: due, content: content)
        var changed = timers
        guard changed.set(timer, limitBytes: table.limits.timerBytes) else { return false }
        change(to: changed, timer.name, timer)
        enter(.timerSet, of: action) { out in
            timer.appendHead(to: &out)
            out.append(UInt8(ascii: "}"))
        }
        return true
    }

    func cancelTimer(_ id: EffectID, by action: ActionTag) {
        let name = ExactText(id.name)
        var changed = timers
        guard changed.remove(name) else { return }
        change(to: changed, name, nil)
        enter(.timerCancelled, of: action) { out in
            out.append(contentsOf: "{\"name\":".utf8)
            JSON.appendString(id.name, to: &out)
            out.append(UInt8(ascii: "}"))
        }
    }

    private func change(to changed: SessionTimers, _ name: ExactText, _ timer: SessionTimer?) {
        let step = step()
        if step.timersBefore == nil { step.timersBefore = timers }
        timers = changed
        guard keepsRecords else { return }
        step.batch.timers.append(TimerChange(of: key, name, timer))
    }

    // MARK: Firing

    /// Receives the action of the session's first timer, if that timer is due.
    ///
    /// The timer is removed whether the reactor accepts the action or not. The removal is in the
    /// same commit as the action's decisions, so the timer fires exactly once. It is no use of the
    /// session, which may fall asleep as soon as before.
    func fireTimer(at now: Int64) {
        guard case .awake(let machine) = life, mayFire(machine), let timer = timers.all.first,
            timer.due <= now
        else { return }
        beginTurn()
        var rest = timers
        rest.remove(timer.name)
        change(to: rest, timer.name, nil)
        enter(.timerFired, of: ActionTag(timer.number)) { out in
            timer.appendHead(to: &out)
            out.append(UInt8(ascii: "}"))
        }
        let action = machine.lastAction + 1
        arrival.key = timer.key(of: action)
        arrival.line = keepsNotes || keepsRecords ? timer.content[...] : nil
        arrival.posted = (JSONBody(timer.content), action)
        meters.state.addReceived(timer.content.count)
        beginWork(.action, action)
        machine.fire(timer)
        endWork()
        arrival = Arrival()
        table.timers.countFired()
        if attempt.hasSettled { answerSettled() }
        endIfDecided()
    }

    /// Before a session that was just loaded fires a late timer, counts the attempt in a commit of
    /// its own. Why: if the timer's action ends the process, the count stays in the journal. After
    /// three counted attempts, postpones the timer by ten minutes. The delay doubles each time, up
    /// to a day.
    ///
    /// A timer that is not late was not due in an earlier process, so it needs no second commit.
    func countLateTimer() {
        let now = table.timerTime
        guard keepsRecords, machine?.isStubbed == false, var timer = timers.all.first,
            timer.due <= now - TimerQueue.rest, table.timers.countLate(id)
        else { return }
        if timer.begun >= RunningAction.beginLimit {
            let minutes = min(10 << min(timer.begun - RunningAction.beginLimit, 8), 1_440)
            // The same starts may have counted harmless timers of other sessions. At random, these
            // fire at other times than the one that ends the process.
            timer.due = now + .random(in: 60_000...90_000) * Int64(minutes)
            EffectLog(session: self).failed(
                at: .effect,
                "the timer \(timer.name.text) is postponed by \(minutes) minutes or more: the server "
                    + "ended \(timer.begun) times before it had committed the timer's action",
                of: ActionTag(timer.number))
        }
        timer.begun = min(timer.begun, RunningAction.countLimit) + 1
        var changed = timers
        guard changed.set(timer, limitBytes: .max) else { return }
        change(to: changed, timer.name, timer)
        step().countsLateTimer = true
    }

    /// Makes the table wait for the session's first timer.
    func waitForTimer() {
        // Without an archive, the session waits for its expiry too.
        let expiry = persistence == nil && feed.expiry > 0 ? feed.expiry : nil
        guard case .awake(let machine) = life, mayFire(machine),
            let next = [timers.next, expiry].compactMap(\.self).min()
        else {
            return table.timers.remove(id)
        }
        table.timers.set(id, due: next)
    }

    /// Whether timers may fire: not while the session is stubbed, and not while a commit that
    /// changes timers is under way. Why: a timer that sets itself again at once would otherwise be
    /// ahead of a slow journal without a bound. A late timer waits for the commit that counts it.
    private func mayFire(_ machine: any Machine) -> Bool {
        var next = uncommitted.first
        while let step = next {
            if step.isGathering ? step.countsLateTimer : step.timersBefore != nil { return false }
            next = step.next
        }
        return !machine.isStubbed
    }

    /// Restores the timers as they were before the oldest of these steps.
    func restoreTimers(before rolledBack: [Step], _ failure: JournalFailure) {
        if let before = rolledBack.first(where: { $0.timersBefore != nil })?.timersBefore {
            timers = before
        }
        guard failure.reason != .moved, let next = timers.next else { return }
        let now = table.timerTime
        // Without the delay, it would fire and fail again as fast as the journal fails.
        table.timers.set(id, due: max(next, now + TimerQueue.rest))
        if failure.reason != .refused { table.timers.failed(at: now) }
    }
}
