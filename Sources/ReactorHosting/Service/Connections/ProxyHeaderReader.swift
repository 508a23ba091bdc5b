internal import Sockets

/// Reads the header with which a proxy begins a connection, to name its client: the PROXY protocol,
/// versions 1 and 2 (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt).
///
/// Design: strict. A header that is not exactly of one of the forms is refused, because a server that
/// guesses would let a client name itself. Reading stops behind the header's last byte.
struct ProxyHeaderReader: Sendable {
    /// The maximum size of a header. §2.2: version 2 has up to 216 bytes of addresses; what follows
    /// them, of which certificates are the most, is skipped.
    static let limitBytes = 4_096
    /// §2.1: the longest line of version 1, with CR LF.
    private static let lineLimitBytes = 107
    private static let lineStart = Array("PROXY ".utf8)
    /// §2.2.
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    private static let fixedBytes = 16

    /// The bytes so far. Invariant: the beginning of a header.
    private var bytes: [UInt8] = []

    enum Progress: Equatable {
        case needsMore
        /// The client; nil if the proxy speaks for itself, or does not know its client.
        case complete(PeerAddress?)
    }

    /// Reads from `input` at `offset`, and moves `offset` past the consumed bytes.
    ///
    /// - Throws: The bytes are not a header. The connection cannot be used then.
    mutating func next(
        _ input: [UInt8], at offset: inout Int
    ) throws(ProxyHeaderFault) -> Progress {
        while offset < input.count {
            bytes.append(input[offset])
            offset += 1
            let isComplete = bytes[0] == Self.lineStart[0] ? try readLine() : try readBlock()
            if isComplete { return .complete(try client()) }
        }
        return .needsMore
    }

    /// Checks the newest byte of version 1; returns whether the line is complete.
    private func readLine() throws(ProxyHeaderFault) -> Bool {
        let last = bytes.count - 1
        if last < Self.lineStart.count {
            guard bytes[last] == Self.lineStart[last] else { throw .absent }
            return false
        }
        if bytes[last] == 0x0A { return true }
        guard bytes.count < Self.lineLimitBytes else { throw .tooLong(limit: Self.lineLimitBytes) }
        return false
    }

    /// The same for version 2.
    private func readBlock() throws(ProxyHeaderFault) -> Bool {
        let last = bytes.count - 1
        if last < Self.signature.count {
            guard bytes[last] == Self.signature[last] else { throw .absent }
            return false
        }
        guard bytes.count >= Self.fixedBytes else { return false }
        let size = Self.fixedBytes + (Int(bytes[14]) << 8 | Int(bytes[15]))
        guard size <= Self.limitBytes else { throw .tooLong(limit: Self.limitBytes) }
        return bytes.count == size
    }

    private func client() throws(ProxyHeaderFault) -> PeerAddress? {
        bytes[0] == Self.lineStart[0] ? try lineClient() : try blockClient()
    }

    // MARK: Version 1

    /// §2.1: `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443`, with single spaces.
    private func lineClient() throws(ProxyHeaderFault) -> PeerAddress? {
        guard bytes.dropLast().last == 0x0D else { throw .malformed }
        let line = String(decoding: bytes.dropLast(2), as: UTF8.self)
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        // The rest of the line is to be ignored.
        if words[1] == "UNKNOWN" { return nil }
        guard words.count == 6, let port = Self.port(words[4]), Self.port(words[5]) != nil,
            let client = PeerAddress(String(words[2])), PeerAddress(String(words[3])) != nil
        else { throw .malformed }
        let isVersion6 = [words[2], words[3]].map { $0.contains(":") }
        switch words[1] {
        case "TCP4" where isVersion6 == [false, false]: return client.at(port: port)
        case "TCP6" where isVersion6 == [true, true]: return client.at(port: port)
        default: throw .malformed
        }
    }

    private static func port(_ text: Substring) -> UInt16? {
        UInt16(text).flatMap { "\($0)" == text ? $0 : nil }
    }

    // MARK: Version 2

    private func blockClient() throws(ProxyHeaderFault) -> PeerAddress? {
        switch bytes[12] {
        // LOCAL: a health check of the proxy.
        case 0x20: return nil
        // PROXY.
        case 0x21: break
        default: throw .malformed
        }
        let content = bytes[Self.fixedBytes...]
        switch bytes[13] {
        // Unknown to the proxy, or a client of its Unix socket.
        case 0x00: return nil
        case 0x31 where content.count >= 216: return nil
        // TCP over IPv4 and over IPv6.
        case 0x11 where content.count >= 12:
            return .ipv4(
                UInt32(truncatingIfNeeded: number(at: 16, count: 4)),
                port: UInt16(truncatingIfNeeded: number(at: 24, count: 2)))
        case 0x21 where content.count >= 36:
            return PeerAddress(
                high: number(at: 16, count: 8), low: number(at: 24, count: 8),
                port: UInt16(truncatingIfNeeded: number(at: 48, count: 2)))
        default: throw .malformed
        }
    }

    private func number(at start: Int, count: Int) -> UInt64 {
        bytes[start..<start + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The reason for refusing the first bytes of a trusted proxy's connection.
enum ProxyHeaderFault: Error, Equatable, CustomStringConvertible {
    /// They begin no header.
    case absent
    case malformed
    case tooLong(limit: Int)

    var description: String {
        switch self {
        case .absent: "the connection does not begin with a header of the PROXY protocol"
        case .malformed: "the header of the PROXY protocol is malformed"
        case .tooLong(let limit): "the header of the PROXY protocol has more than \(limit) bytes"
        }
    }
}
