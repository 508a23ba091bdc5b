internal import Feeds
internal import Sockets

/// Limits the memory of incomplete requests, and of requests that wait for their session to be read
/// from the journal. Heads and bodies of all connections and links of all loops count.
///
/// A request that arrives in one read and is served at once does not count.
///
/// A forwarded request counts for its client at the node that the client has reached.
///
/// One client gets at most a quarter: with all of it, a single machine could have every other body
/// refused. The client is the one that ``ClientAddress`` finds, so that the clients of a proxy have
/// shares of their own; until the head of a request is complete, it is the peer.
///
/// The counter is written when a body's memory grows, about ten times for a body of a megabyte.
final class BodyBudget: Sendable {
    /// The counter. Bytes without a client, such as those of links, are in no share.
    let bytes: ByteBudget<AddressNetwork>
    private let exempt: [AddressRange]

    /// - Parameters:
    ///   - configuration: ``charge(_:for:)`` refuses bytes beyond its limits.
    ///   - exempt: Networks that get more than a client: proxies, which send for many clients.
    init(_ configuration: Configuration, exempt: [AddressRange]) {
        bytes = ByteBudget(
            limit: configuration.actualBodyBudgetBytes,
            clientLimit: configuration.clientBodyBudgetBytes)
        self.exempt = exempt
    }

    /// Changes the limits. Counted bytes stay, even if there are more.
    func adopt(_ configuration: Configuration) {
        bytes.adopt(
            limit: configuration.actualBodyBudgetBytes,
            clientLimit: configuration.clientBodyBudgetBytes)
    }

    /// Counts bytes; returns false, without counting them, if they would exceed a limit.
    func charge(_ bytes: Int, for client: PeerAddress) -> Bool {
        self.bytes.charge(bytes, for: counted(client))
    }

    /// Subtracts counted bytes of the same client.
    func giveBack(_ bytes: Int, for peer: PeerAddress) {
        self.bytes.giveBack(bytes, for: counted(peer))
    }

    private func counted(_ peer: PeerAddress) -> AddressNetwork? {
        guard let network = peer.network else { return nil }
        return exempt.contains { $0.contains(peer) } ? nil : network
    }
}
