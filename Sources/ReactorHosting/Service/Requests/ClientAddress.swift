internal import Sockets
internal import Wire

/// Finds the address of the client that a request comes from, behind proxies.
///
/// Design: `X-Forwarded-For` begins with whatever the client sent; proxies append to it. It may be
/// as long as a head. So it is read from its end, and only as far as the search needs. No other
/// field is believed: a proxy forwards it as the client sent it.
struct ClientAddress: Sendable {
    /// The maximum number of proxies between a client and the server; beyond it the search ends.
    private static let proxyLimit = 32
    /// The longest element that is read; a longer one names no address.
    private static let elementLimitBytes = 1_024

    private let proxies: [AddressRange]
    private let trustsUnixSocket: Bool

    /// - Parameter proxies: Texts of ``AddressRange``, or `unix` for the peers of a Unix socket.
    init(behind proxies: [String]) {
        self.proxies = proxies.compactMap { AddressRange($0) }
        trustsUnixSocket = proxies.contains("unix")
    }

    /// The peer or, if the peer is a trusted proxy, the address that it names; of several, the last
    /// one that is not a trusted proxy itself: everything before it may be the client's invention.
    /// An element that names no address ends the search; then it is the proxy after it.
    func find(_ head: borrowing RequestHead, peer: PeerAddress) -> PeerAddress {
        guard isProxy(peer) else { return peer }
        var (address, count) = (peer, 0)
        // Several lines are one list (RFC 9110 §5.3).
        for line in head.values(of: .xForwardedFor).reversed() {
            var rest: Range<Int>? = line
            while let list = rest {
                let comma = head.bytes[list].lastIndex(of: UInt8(ascii: ","))
                let element = (comma.map { $0 + 1 } ?? list.lowerBound)..<list.upperBound
                guard let named = named(in: element, of: head) else { return address }
                (address, count) = (named, count + 1)
                guard isProxy(named), count < Self.proxyLimit else { return named }
                rest = comma.map { list.lowerBound..<$0 }
            }
        }
        return address
    }

    private func named(in element: Range<Int>, of head: borrowing RequestHead) -> PeerAddress? {
        guard element.count <= Self.elementLimitBytes else { return nil }
        return Self.address(head.text(element)[...].trimmingSpaces)
    }

    func isProxy(_ address: PeerAddress) -> Bool {
        address == .local ? trustsUnixSocket : proxies.contains { $0.contains(address) }
    }

    /// With or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
    private static func address(_ text: Substring) -> PeerAddress? {
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            return PeerAddress(String(text[text.index(after: text.startIndex)..<end]))
        }
        let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
        let host = colons == 1 ? text.prefix { $0 != ":" } : text
        return PeerAddress(String(host))
    }
}
