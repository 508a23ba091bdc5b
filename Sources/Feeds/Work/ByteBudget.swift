internal import Synchronization

/// A budget of bytes that all loops share. Each client has a share of it: a client that could use
/// the whole budget would have everybody else's requests refused.
///
/// Why one counter and not one for each loop: a loop that has used up its part would refuse bytes
/// for which the process has room.
package final class ByteBudget<Client: Hashable & Sendable>: Sendable {
    private let limit: Atomic<Int>
    private let clientLimit: Atomic<Int>
    private let sum = Atomic<Int>(0)
    /// The part of `sum` that can be dropped.
    private let optional = Atomic<Int>(0)
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

    /// Which bytes may be counted.
    package enum Rule {
        /// Bytes within the limits.
        case limited
        /// Bytes within half of each limit. They can be dropped; other bytes cannot.
        case leavingHalf
        /// Bytes within the limits. Also any bytes, if nothing else counts but the `own` ones and
        /// those that can be dropped: otherwise such a request would always be refused.
        case alone(own: Int)
        /// Any bytes: they already count for another client.
        case any

        /// - Parameter optional: the part of `others` that can be dropped.
        fileprivate func permits(
            _ bytes: Int, besides others: Int, optional: Int = 0, _ limit: Int
        ) -> Bool {
            switch self {
            case .limited: others + bytes <= limit
            case .leavingHalf: others + bytes <= limit / 2
            case .alone(let own): others + bytes <= limit || others - optional <= own
            case .any: true
            }
        }

        fileprivate var isOptional: Bool { if case .leavingHalf = self { true } else { false } }
    }

    /// Counts bytes; returns false, without counting them, if the rule does not permit them.
    ///
    /// - Parameter client: nil: they are in no client's share.
    package func charge(_ bytes: Int, for client: Client?, _ rule: Rule = .limited) -> Bool {
        let others = sum.add(bytes, ordering: .relaxed).oldValue
        let optional = optional.load(ordering: .relaxed)
        guard
            rule.permits(
                bytes, besides: others, optional: optional, limit.load(ordering: .relaxed)),
            chargeShare(bytes, of: client, rule)
        else {
            sum.subtract(bytes, ordering: .relaxed)
            return false
        }
        if rule.isOptional { self.optional.add(bytes, ordering: .relaxed) }
        return true
    }

    /// Counts bytes only in the share of a client, because the sum already has them. Returns false,
    /// without counting them, if the rule does not permit them.
    package func chargeShare(_ bytes: Int, of client: Client?, _ rule: Rule) -> Bool {
        guard let client else { return true }
        let limit = clientLimit.load(ordering: .relaxed)
        return clients.withLock { clients in
            let others = clients[client] ?? 0
            guard rule.permits(bytes, besides: others, limit) else { return false }
            clients[client] = others + bytes
            return true
        }
    }

    /// Subtracts bytes that were counted for the same client.
    ///
    /// - Parameter areOptional: whether they were counted by ``Rule/leavingHalf``.
    package func giveBack(_ bytes: Int, for client: Client?, areOptional: Bool = false) {
        if areOptional { optional.subtract(bytes, ordering: .relaxed) }
        sum.subtract(bytes, ordering: .relaxed)
        giveBackShare(bytes, of: client)
    }

    /// Subtracts bytes only from the share of a client.
    package func giveBackShare(_ bytes: Int, of client: Client?) {
        guard let client else { return }
        clients.withLock { clients in
            let rest = (clients[client] ?? 0) - bytes
            clients[client] = rest > 0 ? rest : nil
        }
    }
}
