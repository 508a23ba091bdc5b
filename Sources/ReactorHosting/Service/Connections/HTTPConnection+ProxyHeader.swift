internal import Logging
internal import Sockets
internal import Wire

// The PROXY protocol: a trusted proxy names its client before the first request.
extension HTTPConnection {
    /// Expects the header if the peer is a proxy that sends one. It has the time of a request. The
    /// operations listener has no proxies.
    func expectProxyHeader() {
        let service = loop.service
        guard service.configuration.proxyProtocol, listener == .main,
            service.clientAddress.isProxy(identity.peer)
        else { return }
        identity.proxyHeader = ProxyHeaderReader()
        requestBegan = loop.now
        rearm()
    }

    /// Reads the header. From its end on the client that it names is the connection's peer: in limits
    /// and in the log.
    ///
    /// - Returns: The number of bytes that were read.
    func readProxyHeader(_ bytes: RawSpan) -> Int {
        guard var reader = identity.proxyHeader else { return 0 }
        var input: [UInt8] = []
        input.append(
            copying: bytes.extracting(0..<min(bytes.byteCount, ProxyHeaderReader.limitBytes)))
        var offset = 0
        do throws(ProxyHeaderFault) {
            switch try reader.next(input, at: &offset) {
            case .needsMore: identity.proxyHeader = reader
            case .complete(let client): adoptClient(client)
            }
        } catch {
            refuseProxy("\(error)")
        }
        return offset
    }

    private func adoptClient(_ client: PeerAddress?) {
        identity.proxyHeader = nil
        requestBegan = nil
        if let client {
            let gate = loop.service.gate(of: listener)
            guard gate.rename(identity.peer, to: client) else { return close(.reset) }
            identity.peer = client
        }
        rearm()
    }

    /// Closes the connection of a proxy that sends no header, or no good one.
    func refuseProxy(_ reason: String) {
        loop.service.gate(of: listener).refused(.header)
        loop.settings.logger.warning(
            "a proxy was refused", metadata: ["peer": "\(identity.peer)", "fault": "\(reason)"])
        close(.reset)
    }
}
