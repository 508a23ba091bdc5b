internal import Feeds
internal import Sessions
internal import Storage
internal import Synchronization

extension WorkSearch {
    convenience init?(_ journal: any Journal, waking peers: Peers) {
        self.init(journal) { sessions, done in
            let byLoop = Dictionary(grouping: sessions) { $0.owner(of: peers.count) }
            guard !byLoop.isEmpty else { return done() }
            let left = Mutex(byLoop.count)
            let endOne = { @Sendable in
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { done() }
            }
            for (index, some) in byLoop {
                let isRunning = peers.enqueue(on: index) { loop in
                    loop.sessions.wakeWorking(some) { endOne() }
                }
                if !isRunning { endOne() }
            }
        }
    }
}
