import Cluster
import Reactors
import Storage

@testable import Feeds
@testable import Sessions

// Timers of two sessions. All nodes share one clock, as they share that of a database.
extension ClusterSimulation {
    static let alarms = ["w", "x"]

    func createAlarms() throws {
        guard hasTimers else { return }
        for id in Self.alarms { try processes[0].rig.create(id, alarm) }
    }

    /// Time passes, a node looks at its timers or searches for some, or a client posts.
    func actOnTimers(at process: Process) {
        guard hasTimers, !process.isPaused else { return }
        switch number(0..<12) {
        case 0..<3: passTime(Int64(number(0..<40)))
        case 3..<6: process.rig.table.fireTimers()
        case 6: findTimers(at: process)
        case 7..<10: postAlarm(at: process)
        case 10: processes.first { $0.hasAlarm }.map(postAlarm)
        default: break
        }
    }

    func passTime(_ milliseconds: Int64) {
        wallTime += milliseconds
        for process in processes { process.rig.clock.milliseconds = wallTime }
    }

    private func findTimers(at process: Process) {
        var position = TimerPosition.start
        let members = process.node.members
        guard members.isHeard else { return }
        while true {
            let page = cluster.timers(after: position, before: wallTime + TimerQueue.horizon)
            let found = page.sessions.compactMap { one -> DueTimer? in
                guard members.home(of: one.session.session) == process.node.node else { return nil }
                return DueTimer(one.session, due: one.due)
            }
            process.rig.table.expectTimers(found) {}
            guard let next = page.next else { return run(process) }
            position = next
        }
    }

    private func postAlarm(at process: Process) {
        guard let id = SessionID(Self.alarms[number(0..<2)]) else { return }
        let name = ["a", "b"][number(0..<2)]
        let (after, ring) = (number(0..<90), number(0..<70))
        let body =
            number(0..<5) == 0
            ? Post.silence(name) : Post.alarm(name, after: after, ring: ring)
        process.lookUps += 1
        process.rig.table.fetch(id) { [unowned process] found in
            process.lookUps -= 1
            guard case .session(let session) = found else { return }
            _ = try? process.rig.post(body, to: session)
        }
        run(process)
    }

    func countFiring(_ process: Process) {
        if process.rig.table.timers.firedCount > 0 { firingNodes += 1 }
    }

    /// Each timer that was committed has fired once.
    func finishTimers() {
        guard hasTimers else { return }
        for _ in 0..<8 {
            passTime(1_000_000)
            for process in processes {
                findTimers(at: process)
                settle()
                process.rig.table.fireTimers()
                settle()
            }
        }
        for process in processes { countFiring(process) }
        for id in Self.alarms {
            let entries = cluster.journal.all.filter { $0.session == id }
            let oracle = TimerOracle(entries)
            timersFired += oracle.fired
            violations += oracle.faults.map { "\(id): \($0)" }
            if !oracle.pending.isEmpty { violations.append("\(id): \(oracle.pending) never fired") }
        }
    }
}

extension ClusterSimulation.Process {
    fileprivate var hasAlarm: Bool {
        ClusterSimulation.alarms.contains { (try? rig.session($0)) != nil }
    }
}
