import Storage
import Synchronization

@testable import Feeds
@testable import Sessions

// Sessions that expire: the rows of a journal, and a search for them.
extension ScriptedJournal {
    /// Carries out what waits to be written, as a journal does within a second.
    func writeExpiries(at now: Int64) {
        var step = backlog.next(.max)
        state.withLock { state in
            for (key, due) in step.postponed where state.expiry(of: key) != nil {
                state.keep(.expiry(of: key, at: due))
            }
            guard step.place != nil else { return }
            for created in state.records where created.kind == .created {
                guard let life = step.lives[created.reactor], state.ends.isAlive(created.key),
                    state.expiry(of: created.key) == nil
                else { continue }
                state.keep(.expiry(of: created.key, at: now + life))
            }
        }
        step.place = nil
        backlog.done(step)
    }

    /// When the session expires; nil: it has no row.
    func expiry(of key: SessionKey) -> Int64? { state.withLock { $0.expiry(of: key) } }
}

extension ScriptedJournal.State {
    /// No row is ever set to an earlier time.
    func expiry(of key: SessionKey) -> Int64? {
        guard ends.isAlive(key) else { return nil }
        var due: Int64?
        for one in kept.timers where one.key == key && one.name == SessionTimer.expiryName {
            due = one.timer.map { max($0.due, due ?? $0.due) }
        }
        return due
    }
}

extension TimerChange {
    var key: SessionKey { SessionKey(session: session, generation: generation) }
}

extension Batch {
    fileprivate static func expiry(of key: SessionKey, at due: Int64) -> Batch {
        var batch = Batch()
        let timer = SessionTimer.expiry(at: due)
        batch.timers = [TimerChange(of: key, timer.name, timer)]
        return batch
    }
}

extension Rig {
    /// A search for the sessions that expire within a minute.
    func findExpiring() {
        table.expiry.postponeRead()
        journal.writeExpiries(at: clock.milliseconds)
        guard journal.answers else { return table.fireTimers() }
        var (place, found) = (TimerPosition.start, [DueTimer]())
        while true {
            let page = journal.timers(
                .expiries, after: place, before: clock.milliseconds
            ) { _ in true }
            found += page.sessions.compactMap { DueTimer($0.session, due: $0.due) }
            guard let next = page.next else { break }
            place = next
        }
        table.expiry.examine(found) {}
    }
}

extension ClusterRig {
    /// Nodes that host a ledger, whose sessions expire.
    static func ofExpiringLedgers(
        _ count: Int, life milliseconds: Int64
    ) throws -> (ClusterRig, Registration) {
        let ledger = try Registration.ledger()
        let rigs = ClusterRig(count, [ledger])
        for rig in rigs.rigs { rig.table.limits.sessionExpiry = .milliseconds(milliseconds) }
        return (rigs, ledger)
    }
}
