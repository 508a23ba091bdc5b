internal import Cluster
internal import Logging
internal import Sockets
internal import Wire

/// The entrance for other nodes: the loop on which they prove themselves, and its listener.
struct LinkEntrance {
    private let door: EventLoop<LinkDoor>

    /// - Parameter loops: The loops that have sessions, to which links are passed.
    /// - Throws: If the system has no descriptor or memory for the loop.
    init(
        _ node: LocalNode, _ loops: [EventLoop<ServerLoop>], _ configuration: Configuration
    ) throws(SystemFailure) {
        let identity = LinkDoor.Identity(
            node: node.member.node.number, secrets: node.secrets.isEmpty ? [[]] : node.secrets,
            loops: loops.count,
            payloadLimitBytes: LinkTable.payloadLimitBytes)
        let logger = configuration.logger
        let outcome = LinkDoor.Outcome(
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
        door = try EventLoop<LinkDoor>(
            label: "reactor-server.links", poller: configuration.poller.kind
        ) { _, table in LinkDoor(identity, table, outcome) }
    }

    func listen(_ socket: consuming BoundSocket) throws(SystemFailure) -> Listener<LinkDoor> {
        try Listener(socket, loops: [door], maximumConnections: LinkDoor.connectionLimit)
    }

    /// Refuses other nodes from now on.
    func close(_ listener: Listener<LinkDoor>?) async {
        listener?.close()
        await listener?.untilClosed()
        await door.stop()
    }
}
