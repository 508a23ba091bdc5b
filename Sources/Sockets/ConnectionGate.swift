import Synchronization

/// Decides whether an accepted connection is kept, and counts those that are not.
///
/// Counts the open connections of each peer's network: at most one count for each.
package final class ConnectionGate: Sendable {
    package enum Refusal: Int, CaseIterable, Sendable {
        /// The limit for all connections together.
        case limit
        case address
        case descriptors
    }

    private let maximum: Int
    private let maximumPerNetwork: Atomic<Int>
    /// Whether there is a limit per network. It does not change: earlier connections have no count.
    private let countsNetworks: Bool
    private let exempt: [AddressRange]
    /// The number of open connections, if there is a limit for all of them.
    private let openCount = Atomic<Int>(0)
    private let counts = Mutex<[AddressNetwork: Int]>([:])
    private let refusals = Mutex<InlineArray<3, UInt64>>(.init(repeating: 0))

    /// - Parameters:
    ///   - maximum: For all connections, wherever they are; the listener's is for its loops.
    ///   - maximumPerNetwork: The limit for an IPv4 address or an IPv6 network of 64 bits.
    ///   - exempt: Networks without that limit: proxies, which connect for many clients.
    package init(
        maximum: Int = .max, maximumPerNetwork: Int = .max, exempt: [AddressRange] = []
    ) {
        self.maximum = maximum
        self.maximumPerNetwork = Atomic(maximumPerNetwork)
        self.countsNetworks = maximumPerNetwork < .max
        self.exempt = exempt
    }

    /// Changes the limit of each network, if there is one. Open connections stay.
    package func limitNetworks(to maximum: Int) {
        maximumPerNetwork.store(maximum, ordering: .relaxed)
    }

    /// Counts a connection. Returns whether there is room for it; if not, it is not counted.
    func admit(_ peer: PeerAddress) -> Bool {
        guard maximum == .max || openCount.add(1, ordering: .relaxed).newValue <= maximum else {
            openCount.subtract(1, ordering: .relaxed)
            refused(.limit)
            return false
        }
        guard admitToNetwork(peer) else {
            uncount()
            refused(.address)
            return false
        }
        return true
    }

    private func admitToNetwork(_ peer: PeerAddress) -> Bool {
        guard let network = counted(peer) else { return true }
        return counts.withLock { counts in
            let count = counts[network] ?? 0
            guard count < maximumPerNetwork.load(ordering: .relaxed) else { return false }
            counts[network] = count + 1
            return true
        }
    }

    package func ended(_ peer: PeerAddress) {
        uncount()
        guard let network = counted(peer) else { return }
        counts.withLock { counts in
            guard let count = counts[network] else { return }
            counts[network] = count > 1 ? count - 1 : nil
        }
    }

    private func uncount() {
        if maximum < .max { openCount.subtract(1, ordering: .relaxed) }
    }

    package func refused(_ why: Refusal) {
        refusals.withLock { $0[why.rawValue] += 1 }
    }

    package func count(_ why: Refusal) -> UInt64 {
        refusals.withLock { $0[why.rawValue] }
    }

    private func counted(_ peer: PeerAddress) -> AddressNetwork? {
        guard countsNetworks, let network = peer.network else { return nil }
        return exempt.contains { $0.contains(peer) } ? nil : network
    }
}
