internal import Dispatch
internal import Feeds
internal import Sessions
internal import Storage

extension WorkSearch {
    convenience init?(_ journal: any Journal, waking peers: Peers) {
        self.init(journal) { sessions, done in
            let byLoop = Dictionary(grouping: sessions) { $0.owner(of: peers.count) }
            let waking = DispatchGroup()
            for (index, some) in byLoop {
                waking.enter()
                let isRunning = peers.enqueue(on: index) { loop in
                    loop.sessions.wakeWorking(some) { waking.leave() }
                }
                if !isRunning { waking.leave() }
            }
            waking.notify(queue: .global(), execute: done)
        }
    }
}
