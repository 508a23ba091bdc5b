internal import Cluster
internal import Feeds
internal import Sessions
package import Sockets
internal import Wire

/// The links of one loop: those that it has dialled, on which it sends its clients' requests to
/// other nodes and gets hints of sessions that it follows, and those that other nodes have dialled,
/// on which it serves theirs.
///
/// Design: the ends are machines of `Wire`; these objects have their sockets and the clock. What is
/// to be sent is collected, and leaves at the end of the round. Events of a link are passed to the
/// delegate after its machine was left, so that the delegate may send at once.
///
/// Not Sendable: it is used on its loop only.
package final class LinkTable {
    /// A frame has the size of the largest request that any node can permit.
    package static let payloadLimitBytes = (1 << 30) + (2 << 20)

    package let way: ClusterWay
    package let outgoing: OutgoingLinks
    package let incoming: IncomingLinks
    private let timer: LinkTimer

    package weak var delegate: (any LinkTableDelegate)? {
        didSet {
            outgoing.delegate = delegate
            incoming.delegate = delegate
        }
    }

    /// - Parameter secret: Proves to other nodes that this is a node of the cluster; may be empty.
    package init(
        _ way: ClusterWay, _ budget: LinkBudget, _ table: ConnectionTable, secret: [UInt8],
        dial: @escaping OutgoingLinks.Dial
    ) {
        self.way = way
        timer = LinkTimer(table)
        outgoing = OutgoingLinks(way, table, timer, budget, secret: secret, dial: dial)
        incoming = IncomingLinks(way, table, timer, budget)
    }

    /// The number of sockets.
    package var count: Int { outgoing.count + incoming.count }

    // MARK: Sockets. Those that are no links are skipped.

    package func received(_ socket: ConnectionID, _ bytes: RawSpan) {
        var input: [UInt8] = []
        input.append(copying: bytes)
        outgoing.received(socket, input)
        incoming.received(socket, input)
    }

    package func writable(_ socket: ConnectionID) {
        outgoing.writable(socket)
        incoming.writable(socket)
    }

    package func peerFinished(_ socket: ConnectionID) {
        outgoing.closed(socket, .reset)
        incoming.closed(socket)
    }

    package func closed(_ socket: ConnectionID, _ why: CloseReason) {
        outgoing.closed(socket, why)
        incoming.closed(socket)
    }

    /// Sends what the round has collected. Called once a round.
    package func flush() {
        outgoing.flush()
        incoming.flush()
    }

    /// Sends pings, ends links whose other node is silent, and ends the pauses of requests.
    package func timerReached() {
        let isLate = timer.fired()
        way.tick(isLate: isLate)
        outgoing.tick(isLate: isLate)
        incoming.tick(isLate: isLate)
        if !outgoing.isIdle || !incoming.isIdle { timer.start() }
    }

    /// Closes every link, because the server ends. Nothing is passed to the delegate.
    package func close() {
        outgoing.close()
        incoming.close()
    }
}
