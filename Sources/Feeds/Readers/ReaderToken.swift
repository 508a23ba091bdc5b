/// The token of a reader, which the layer above gives.
///
/// Design: the token of a relay (a reader for a stream of several sessions) is one that no
/// connection has: the highest bit of its lower half is set. So the layer above looks for a relay
/// only if it has found no connection.
package enum ReaderToken {
    package static let relayMark: UInt64 = 1 << 31

    /// Whether the token belongs to a relay, and not to a connection.
    package static func isRelay(_ token: UInt64) -> Bool { token & relayMark != 0 }

    /// The token of a request whose answer nobody reads. No relay has it.
    package static let nobody = UInt64.max - 1

    /// Of all subscribers for readers on other loops, which have no connection on this one. No
    /// relay has it.
    static let remote = UInt64.max
}
