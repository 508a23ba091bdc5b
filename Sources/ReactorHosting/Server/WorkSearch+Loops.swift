internal import Dispatch
internal import Feeds
internal import Sessions
internal import Storage

extension WorkSearch {
    convenience init?(_ journal: any Journal, _ hosted: [Registration], waking peers: Peers) {
        self.init(journal, hosted + [.topic]) { sessions, done in
            peers.spread(sessions, by: \.self, done) { $0.sessions.wakeWorking($1, then: $2) }
        }
    }
}

extension TimerSearch {
    convenience init(
        _ kind: TimerKind, _ rules: WorkSearch, of journal: any Journal, expectingIn peers: Peers
    ) {
        self.init(kind, rules) {
            journal.clock(FileJournal.systemTime()).lowerBound
        } expect: { found, done in
            peers.spread(found, by: \.id, done) { loop, some, done in
                switch kind {
                case .actions: loop.sessions.expectTimers(some, then: done)
                case .expiries: loop.sessions.expiry.examine(some, then: done)
                }
            }
        }
    }
}

extension Peers {
    /// Passes each loop its sessions, and calls `done` once all loops have called back.
    fileprivate func spread<Found: Sendable>(
        _ found: [Found], by id: (Found) -> SessionID, _ done: @escaping @Sendable () -> Void,
        _ act: @escaping @Sendable (ServerLoop, [Found], @escaping @Sendable () -> Void) -> Void
    ) {
        let byLoop = Dictionary(grouping: found) { id($0).owner(of: count) }
        let working = DispatchGroup()
        for (index, some) in byLoop {
            working.enter()
            let isRunning = enqueue(on: index) { act($0, some) { working.leave() } }
            if !isRunning { working.leave() }
        }
        working.notify(queue: .global(), execute: done)
    }
}
