internal import Sockets
internal import Wire

/// Finds the address of the client that a request comes from, behind proxies.
struct ClientAddress: Sendable {
    private let proxies: [AddressRange]
    private let trustsUnixSocket: Bool
    private let field: KnownField

    /// - Parameter proxies: The proxies whose word counts: texts of ``AddressRange``, or `unix` for
    ///   the peers of a Unix socket.
    init(behind proxies: [String], _ field: ClientAddressField) {
        self.proxies = proxies.compactMap { AddressRange($0) }
        trustsUnixSocket = proxies.contains("unix")
        self.field = field == .forwarded ? .forwarded : .xForwardedFor
    }

    /// The peer or, if the peer is a trusted proxy, the address that it names; of several, the last
    /// one that is not a trusted proxy itself: everything before it may be the client's invention.
    /// An element that names no address ends the search; then it is the proxy after it.
    func find(_ head: borrowing RequestHead, peer: PeerAddress) -> PeerAddress {
        guard isProxy(peer) else { return peer }
        var address = peer
        // Several lines are one list (RFC 9110 §5.3).
        let elements = head.values(of: field).flatMap { line in
            head.text(line).split(separator: ",", omittingEmptySubsequences: false)
        }
        for element in elements.reversed() {
            let text = field == .forwarded ? Self.forwardedFor(element) : element
            guard let text, let named = Self.address(text.trimmed) else { return address }
            address = named
            guard isProxy(named) else { return named }
        }
        return address
    }

    private func isProxy(_ address: PeerAddress) -> Bool {
        address == .local ? trustsUnixSocket : proxies.contains { $0.contains(address) }
    }

    /// The value of `for` in one element of Forwarded, without quotation marks (RFC 7239 §4). Nil
    /// without it; `unknown` and obfuscated names are no addresses.
    private static func forwardedFor(_ element: Substring) -> Substring? {
        for pair in element.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmed.lowercased() == "for" else { continue }
            var value = parts[1].trimmed
            if value.count >= 2, value.first == "\"", value.last == "\"" {
                value = value.dropFirst().dropLast()
            }
            return value
        }
        return nil
    }

    /// An address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`,
    /// `[2001:db8::1]:80`.
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

extension Substring {
    /// Without spaces and tabs at either end.
    fileprivate var trimmed: Substring {
        var rest = drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
