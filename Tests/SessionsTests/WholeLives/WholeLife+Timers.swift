import Storage
import Synchronization

@testable import Feeds
@testable import Sessions

// Timers of sessions, with a clock that runs, jumps ahead and is set back. The action log says when
// each was set, cancelled and fired.
extension WholeLife {
    static let alarms = ["w", "x"]

    /// Time passes, and the loop looks at the timers; or the process looks for sleeping sessions.
    func passTime() {
        guard scope.hasTimers else { return }
        switch Int.random(in: 0..<24, using: &generator) {
        case 0: rig.clock.milliseconds += 600_000
        case 1: rig.clock.milliseconds -= 5_000
        case 2..<12: rig.clock.milliseconds += Int64.random(in: 0...60, using: &generator)
        case 12..<16: rig.table.fireTimers()
        case 16: findTimers()
        default: break
        }
    }

    /// Does the work of a `TimerSearch` at one moment.
    private func findTimers() {
        guard scope.hasArchive else { return }
        var place = TimerPosition.start
        while true {
            let page = rig.journal.timers(
                after: place, before: rig.clock.milliseconds + TimerQueue.horizon
            ) { _ in true }
            let found = page.sessions.compactMap {
                DueTimer($0.session, due: $0.due)
            }
            rig.table.expectTimers(found) {}
            guard let next = page.next else { return }
            place = next
        }
    }

    /// An action of an alarm.
    func alarmAction() -> String {
        let name = ["a", "b", "c"].randomElement(using: &generator) ?? "a"
        let after = Int.random(in: 0...90, using: &generator)
        let ring = Int.random(in: 0..<70, using: &generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<5: return Post.alarm(name, after: after, ring: ring)
        case 5:
            return Post.alarm(name, at: rig.clock.milliseconds + Int64(after) - 20, ring: ring)
        case 6: return #"{"type":"waver","name":"\#(name)","after":\#(after),"ring":\#(ring)}"#
        case 7: return #"{"type":"fail","name":"\#(name)","ring":\#(ring)}"#
        case 8: return Post.alarm("hour", after: 3_600_000 + after, ring: ring)
        default: return Post.silence(name)
        }
    }

    /// Every timer is due.
    func passAllTime() {
        guard scope.hasTimers else { return }
        rig.clock.milliseconds += 10_000_000
        findTimers()
        rig.table.fireTimers()
    }

    // MARK: The oracle

    /// Each timer that was set, and not replaced or cancelled, has fired exactly once, and not
    /// early. None has fired before one that was due earlier.
    func checkTimers() {
        guard scope.hasTimers else { return }
        let lives = Dictionary(
            grouping: everything.filter { reactors[$0.session] == "alarm" }, by: \.key)
        for (life, entries) in lives where !stubbed.contains(life.session) {
            check(entries, of: life)
        }
        for change in rig.journal.keptBatch.timers {
            guard let timer = change.timer, !stubbed.contains(change.session) else { continue }
            if String(decoding: timer.content, as: UTF8.self).contains("decline") {
                blame("\(change.session) has a timer of an action that was refused")
            }
        }
    }

    private func check(_ entries: [HistoryEntry], of life: SessionKey) {
        let oracle = TimerOracle(entries)
        timersFired += oracle.fired
        for fault in oracle.faults { blame("\(life): \(fault)") }
        let isOver = entries.contains { $0.kind == .deleted }
        guard let id = SessionID(life.session), case .session(let session) = rig.table.find(id),
            session.feed.key == life, !isOver
        else { return }
        if !oracle.pending.isEmpty { blame("\(life): \(oracle.pending) never fired") }
        let saved = rig.journal.saved(life)
        if !saved.isEmpty { blame("\(life): the journal has \(saved)") }
    }
}

extension ScriptedJournal {
    fileprivate func saved(_ key: SessionKey) -> [SessionTimer] {
        state.withLock { $0.timers(of: key) }
    }
}
