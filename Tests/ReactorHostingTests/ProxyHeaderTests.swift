import Sockets
import Testing

@testable import ReactorHosting

@Suite("The PROXY protocol — its header", .timeLimit(.minutes(15)))
struct ProxyHeaderTests {
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

    /// Version 2.
    private static func block(
        _ command: UInt8, _ family: UInt8, _ content: [UInt8], length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? content.count
        return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + content
    }

    /// Reads the bytes in two parts, split at every position: the outcome is the same, and bytes that
    /// follow are left. Returns the client, `-` for none, `…` for a part of a header, or the fault.
    private func outcome(_ header: [UInt8]) throws -> String {
        var outcomes: Set<String> = []
        for split in 0...header.count {
            var reader = ProxyHeaderReader()
            var consumed = 0
            var text = "…"
            for part in [header[..<split], header[split...] + Array("GET".utf8)[...]]
            where text == "…" {
                var offset = 0
                do throws(ProxyHeaderFault) {
                    switch try reader.next(Array(part), at: &offset) {
                    case .needsMore: #expect(offset == part.count)
                    case .complete(let client): text = client?.description ?? "-"
                    }
                } catch {
                    text = "\(error)"
                }
                consumed += offset
            }
            if !text.hasPrefix("the "), text != "…" { #expect(consumed == header.count) }
            outcomes.insert(text)
        }
        #expect(outcomes.count == 1, "\(outcomes)")
        return try #require(outcomes.first)
    }

    @Test(arguments: [
        ("TCP4 192.0.2.1 198.51.100.2 56324 443", "192.0.2.1:56324"),
        ("TCP4 255.255.255.255 255.255.255.255 65535 65535", "255.255.255.255:65535"),
        ("TCP6 2001:db8::1 2001:db8::2 0 443", "[2001:db8::1]:0"),
        ("TCP6 ::ffff:192.0.2.1 ::1 1 2", "192.0.2.1:1"),
        ("UNKNOWN", "-"), ("UNKNOWN ffff:f...f:ffff 65535 65535", "-"),
    ])
    func `a line names the client`(line: String, client: String) throws {
        #expect(try outcome(Array("PROXY \(line)\r\n".utf8)) == client)
    }

    @Test(arguments: [
        "TCP4 192.0.2.1 198.51.100.2 56324", "TCP4  192.0.2.1 198.51.100.2 56324 443",
        "TCP4 192.0.2.1 198.51.100.2 56324 443 ", "TCP4 192.0.2.01 198.51.100.2 1 2",
        "TCP4 192.0.2.1 198.51.100.2 056324 443", "TCP4 192.0.2.1 198.51.100.2 65536 443",
        "TCP4 192.0.2.1 198.51.100.2 -1 443", "TCP4 192.0.2.1 198.51.100.2 1 +2",
        "TCP4 2001:db8::1 2001:db8::2 1 2", "TCP6 192.0.2.1 198.51.100.2 1 2",
        "TCP6 2001:db8::1%1 2001:db8::2 1 2", "TCP5 192.0.2.1 198.51.100.2 1 2", "", " ",
        "tcp4 192.0.2.1 198.51.100.2 1 2", "TCP4 192.0.2.1\r198.51.100.2 1 2",
        "TCP4 192.0.2.1\t198.51.100.2 1 2", "TCP4 a b c d", "UNKNOWNS",
    ])
    func `another line is refused`(line: String) throws {
        let fault = "\(ProxyHeaderFault.malformed)"
        #expect(try outcome(Array("PROXY \(line)\r\n".utf8)) == fault)
        let feed = Array("PROXY TCP4 192.0.2.1 198.51.100.2 1 2\n".utf8)
        #expect(try outcome(feed) == fault)
    }

    @Test func `a line has at most 107 bytes`() throws {
        let line = "PROXY UNKNOWN " + String(repeating: "a", count: 91)
        #expect(try outcome(Array("\(line)\r\n".utf8)) == "-")
        #expect(
            try outcome(Array("\(line)a\r\n".utf8)) == "\(ProxyHeaderFault.tooLong(limit: 107))")
    }

    @Test func `a block names the client`() throws {
        let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xDC, 0x04, 1, 187]
        let ipv6: [UInt8] =
            [0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]
            + Array(repeating: 9, count: 16) + [0, 80, 1, 187]
        var mapped = Array(repeating: UInt8(0), count: 36)
        mapped.replaceSubrange(10..<16, with: [255, 255, 192, 0, 2, 1])
        #expect(try outcome(Self.block(0x21, 0x11, ipv4)) == "192.0.2.1:56324")
        #expect(try outcome(Self.block(0x21, 0x21, ipv6)) == "[2001:db8::1]:80")
        #expect(try outcome(Self.block(0x21, 0x21, mapped)) == "192.0.2.1:0")
        // Behind the addresses: a checksum, or what TLS has shown.
        #expect(try outcome(Self.block(0x21, 0x11, ipv4 + [3, 0, 1, 9])) == "192.0.2.1:56324")
        // A health check, an unknown client, a client of a Unix socket.
        #expect(try outcome(Self.block(0x20, 0x00, [])) == "-")
        #expect(try outcome(Self.block(0x20, 0x11, ipv4)) == "-")
        #expect(try outcome(Self.block(0x21, 0x00, [1, 2])) == "-")
        #expect(try outcome(Self.block(0x21, 0x31, Array(repeating: 0, count: 216))) == "-")
    }

    @Test func `another block is refused`() throws {
        let ipv4 = Array(repeating: UInt8(1), count: 12)
        let malformed = "\(ProxyHeaderFault.malformed)"
        for (command, family, content): (UInt8, UInt8, [UInt8]) in [
            (0x11, 0x11, ipv4), (0x22, 0x11, ipv4), (0x31, 0x11, ipv4), (0x21, 0x12, ipv4),
            (0x21, 0x11, Array(ipv4.dropLast())), (0x21, 0x21, Array(repeating: 1, count: 35)),
            (0x21, 0x31, Array(repeating: 1, count: 215)), (0x21, 0x41, ipv4),
        ] {
            #expect(try outcome(Self.block(command, family, content)) == malformed)
        }
        let long = Self.block(0x21, 0x11, ipv4, length: 4_081)
        #expect(try outcome(long) == "\(ProxyHeaderFault.tooLong(limit: 4_096))")
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "proxy UNKNOWN\r\n", "\r\n\r\nGET", "\n",
    ])
    func `bytes that begin no header are refused at once`(text: String) throws {
        #expect(try outcome(Array(text.utf8)) == "\(ProxyHeaderFault.absent)")
    }
}
