internal import Cluster
internal import Clustering
internal import Logging
internal import Sockets
internal import Wire

/// The listener for other nodes, and the loop on which they prove themselves.
struct LinkListener {
    private let handshakeLoop: EventLoop<LinkHandshakes>

    /// - Parameter loops: The loops that have sessions, to which links are passed.
    /// - Throws: If the system has no descriptor or memory for the loop.
    init(
        _ node: LocalNode, _ loops: [EventLoop<ServerLoop>], _ configuration: Configuration
    ) throws(SystemFailure) {
        let identity = LinkHandshakes.Identity(
            node: node.member.node.number, secrets: node.secrets.isEmpty ? [[]] : node.secrets,
            loops: loops.count,
            payloadLimitBytes: LinkTable.payloadLimitBytes)
        let logger = configuration.logger
        let outcome = LinkHandshakes.Outcome(
            admit: { socket, link, peer in
                // The loop closes a link that arrives after the end.
                loops[Int(peer.loop)].adopt(socket) { loop, id in
                    guard let links = loop.resources.links else {
                        return loop.resources.table.close(id, .reset)
                    }
                    links.incoming.admit(link, from: peer, as: id)
                }
            },
            report: { peer, reason, omitted in
                var metadata: Logger.Metadata = ["peer": "\(peer)"]
                if omitted > 0 { metadata["omitted"] = .stringConvertible(omitted) }
                logger.warning("a link was refused: \(reason)", metadata: metadata)
            })
        handshakeLoop = try EventLoop<LinkHandshakes>(
            label: "reactor-server.links", poller: configuration.poller
        ) { _, table in LinkHandshakes(identity, table, outcome) }
    }

    func listen(_ socket: consuming BoundSocket) throws(SystemFailure) -> Listener<LinkHandshakes> {
        try Listener(
            socket, loops: [handshakeLoop], maximumConnections: LinkHandshakes.connectionLimit)
    }

    /// Refuses other nodes from now on.
    func close(_ listener: Listener<LinkHandshakes>?) async {
        listener?.close()
        await listener?.untilClosed()
        await handshakeLoop.stop()
    }
}
