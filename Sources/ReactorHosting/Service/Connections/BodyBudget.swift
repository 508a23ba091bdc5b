internal import Sockets
internal import Synchronization

/// Limits the memory of incomplete requests, and of requests that wait for their session to be read
/// from the journal. Heads and bodies of all connections and links of all loops count.
///
/// A request that arrives in one read and is served at once does not count.
///
/// Requests that come over links count for no client: their client counts at the node that it has
/// reached.
///
/// One client gets at most a quarter: with all of it, a single machine could have every other body
/// refused. It is the client that ``ClientAddress`` finds, so that the clients of a proxy do not share a
/// part; until the head of a request is complete, it is the peer.
///
/// Why one counter and not a share for each loop: a loop with an exhausted share would refuse
/// bodies for which the process has room. The counter is written when a body's memory grows, about
/// ten times for a body of a megabyte.
final class BodyBudget: Sendable {
    private let limitBytes: Atomic<Int>
    private let clientLimitBytes: Atomic<Int>
    private let used = Atomic<Int>(0)
    private let exempt: [AddressRange]
    /// At most as many as requests that are counted.
    private let clients = Mutex<[AddressNetwork: Int]>([:])

    /// - Parameters:
    ///   - configuration: ``charge(_:for:)`` refuses bytes beyond its limits.
    ///   - exempt: Networks that get more than a client: proxies, which send for many clients.
    init(_ configuration: Configuration, exempt: [AddressRange]) {
        limitBytes = Atomic(configuration.actualBodyBudgetBytes)
        clientLimitBytes = Atomic(configuration.clientBodyBudgetBytes)
        self.exempt = exempt
    }

    /// Changes the limits. Counted bytes stay, even if there are more.
    func adopt(_ configuration: Configuration) {
        limitBytes.store(configuration.actualBodyBudgetBytes, ordering: .relaxed)
        clientLimitBytes.store(configuration.clientBodyBudgetBytes, ordering: .relaxed)
    }

    /// Counts bytes; returns false, without counting them, if they would exceed a limit.
    func charge(_ bytes: Int, for client: PeerAddress) -> Bool {
        let sum = used.add(bytes, ordering: .relaxed).newValue
        guard sum <= limitBytes.load(ordering: .relaxed), chargeClient(bytes, client) else {
            used.subtract(bytes, ordering: .relaxed)
            return false
        }
        return true
    }

    private func chargeClient(_ bytes: Int, _ peer: PeerAddress) -> Bool {
        guard let client = counted(peer) else { return true }
        let limit = clientLimitBytes.load(ordering: .relaxed)
        return clients.withLock { clients in
            let sum = (clients[client] ?? 0) + bytes
            guard sum <= limit else { return false }
            clients[client] = sum
            return true
        }
    }

    /// Subtracts counted bytes of the same client.
    func giveBack(_ bytes: Int, for peer: PeerAddress) {
        used.subtract(bytes, ordering: .relaxed)
        guard let client = counted(peer) else { return }
        clients.withLock { clients in
            let rest = (clients[client] ?? 0) - bytes
            clients[client] = rest > 0 ? rest : nil
        }
    }

    private func counted(_ peer: PeerAddress) -> AddressNetwork? {
        guard let network = peer.network else { return nil }
        return exempt.contains { $0.contains(peer) } ? nil : network
    }
}
