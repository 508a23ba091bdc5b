internal import Synchronization

/// A number of bytes that all loops share, with a share for each client: with all of it, a single
/// client could have the requests of every other refused.
///
/// Why one counter and not a part for each loop: a loop with an exhausted part would refuse bytes
/// for which the process has room.
package final class ByteBudget<Client: Hashable & Sendable>: Sendable {
    private let limit: Atomic<Int>
    private let clientLimit: Atomic<Int>
    private let sum = Atomic<Int>(0)
    /// Invariant: only clients with more than 0 bytes.
    private let clients = Mutex<[Client: Int]>([:])

    package init(limit: Int, clientLimit: Int) {
        self.limit = Atomic(limit)
        self.clientLimit = Atomic(clientLimit)
    }

    /// The bytes that are counted now.
    package var used: Int { sum.load(ordering: .relaxed) }

    /// Changes the limits. Counted bytes stay, even if there are more.
    package func adopt(limit: Int, clientLimit: Int) {
        self.limit.store(limit, ordering: .relaxed)
        self.clientLimit.store(clientLimit, ordering: .relaxed)
    }

    /// Counts bytes; returns false, without counting them, if they would exceed a limit.
    ///
    /// - Parameters:
    ///   - client: nil: they are in no client's share.
    ///   - leavingHalf: whether these bytes must leave half of each limit free, because they can be
    ///     dropped and others cannot.
    package func charge(_ bytes: Int, for client: Client?, leavingHalf: Bool = false) -> Bool {
        let part = leavingHalf ? 2 : 1
        let sum = self.sum.add(bytes, ordering: .relaxed).newValue
        guard sum <= limit.load(ordering: .relaxed) / part, chargeClient(bytes, client, part)
        else {
            self.sum.subtract(bytes, ordering: .relaxed)
            return false
        }
        return true
    }

    private func chargeClient(_ bytes: Int, _ client: Client?, _ part: Int) -> Bool {
        guard let client else { return true }
        let limit = clientLimit.load(ordering: .relaxed) / part
        return clients.withLock { clients in
            let sum = (clients[client] ?? 0) + bytes
            guard sum <= limit else { return false }
            clients[client] = sum
            return true
        }
    }

    /// Subtracts bytes that were counted for the same client.
    package func giveBack(_ bytes: Int, for client: Client?) {
        sum.subtract(bytes, ordering: .relaxed)
        guard let client else { return }
        clients.withLock { clients in
            let rest = (clients[client] ?? 0) - bytes
            clients[client] = rest > 0 ? rest : nil
        }
    }
}
