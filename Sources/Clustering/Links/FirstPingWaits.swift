internal import Sockets

/// Waits for the first pings of other nodes, which have the databases that they believe.
final class FirstPingWaits {
    private struct Wait {
        var awaited: Set<OutgoingLinks.FarEnd>
        let deadline: LoopInstant
        let done: () -> Void
    }

    private var all: [Wait] = []

    var isEmpty: Bool { all.isEmpty }

    /// Calls `done` once, when no node is awaited any more.
    func begin(
        _ awaited: Set<OutgoingLinks.FarEnd>, until deadline: LoopInstant,
        _ done: @escaping () -> Void
    ) {
        guard !awaited.isEmpty else { return done() }
        all.append(Wait(awaited: awaited, deadline: deadline, done: done))
    }

    /// The node's first ping has arrived, or its link has ended.
    func heard(_ far: OutgoingLinks.FarEnd) {
        guard !all.isEmpty else { return }
        for index in all.indices { all[index].awaited.remove(far) }
        end(where: { $0.awaited.isEmpty })
    }

    func expire(at now: LoopInstant) {
        if !all.isEmpty { end(where: { now >= $0.deadline }) }
    }

    /// The server ends.
    func end() { end(where: { _ in true }) }

    private func end(where isOver: (Wait) -> Bool) {
        let over = all.filter(isOver)
        all.removeAll(where: isOver)
        for wait in over { wait.done() }
    }
}
