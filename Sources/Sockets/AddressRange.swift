/// Addresses that begin with the same bits: `10.0.0.0/8`, `2001:db8::/32`, or one address.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The beginning, its other bits 0.
    private let first: AddressNetwork
    private let length: Int

    package let description: String

    /// Reads an address, or an address, `/` and the number of bits that count. Nil for anything
    /// else, and if another bit is set: `10.0.0.1/8` may be a slip.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = PeerAddress(String(parts[0])), let bits = AddressNetwork(address) else {
            return nil
        }
        var length = bits.count
        if parts.count == 2 {
            guard let given = Int(parts[1]), "\(given)" == parts[1], 0...bits.count ~= given else {
                return nil
            }
            length = given
        }
        guard bits.prefix(length) == bits else { return nil }
        (first, self.length, description) = (bits, length, text)
    }

    /// False for a Unix socket's peer.
    package func contains(_ address: PeerAddress) -> Bool {
        guard let bits = AddressNetwork(address), bits.count == first.count else { return false }
        return bits.prefix(length) == first
    }

    /// 127.0.0.0/8 and ::1.
    package static let loopback = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }
}

/// The addresses that begin with these bits; one address, if all of them count.
package struct AddressNetwork: Hashable, Sendable {
    /// 32 or 128.
    let count: Int
    private let high: UInt64
    private let low: UInt64

    /// Nil for a Unix socket's peer.
    init?(_ address: PeerAddress) {
        switch address {
        case .ipv4(let bits, _): (count, high, low) = (32, UInt64(bits) << 32, 0)
        case .ipv6(let high, let low, _, _): (count, self.high, self.low) = (128, high, low)
        case .local: return nil
        }
    }

    /// Equal networks have equal texts.
    package var text: String { "\(count)/\(high)/\(low)" }

    private init(count: Int, high: UInt64, low: UInt64) {
        (self.count, self.high, self.low) = (count, high, low)
    }

    func prefix(_ length: Int) -> AddressNetwork {
        // A shift by the whole width or more makes 0.
        let highMask = ~UInt64(0) << max(0, 64 - length)
        let lowMask = length <= 64 ? 0 : ~UInt64(0) << (128 - length)
        return AddressNetwork(count: count, high: high & highMask, low: low & lowMask)
    }
}

extension PeerAddress {
    /// The part that stands for one client: an IPv4 address, or 64 bits of an IPv6 address, of
    /// whose network a client has all (RFC 6177 §2). Nil for a Unix socket's peer.
    package var network: AddressNetwork? {
        AddressNetwork(self).map { $0.count == 32 ? $0 : $0.prefix(64) }
    }
}
