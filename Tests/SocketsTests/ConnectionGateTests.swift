import Glibc
import Testing

@testable import Sockets

@Suite("Ranges of addresses", .timeLimit(.minutes(60)))
struct AddressRangeTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
        ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false),
        ("192.0.2.7/32", "192.0.2.7", true), ("127.0.0.0/8", "::ffff:127.0.0.1", true),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::", false),
        ("2001:db8::/64", "2001:db8::ffff:0:0:1", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
        ("::/0", "fe80::1", true), ("::1", "::1", true), ("::1/128", "::2", false),
    ])
    func `a range contains the addresses that begin with its bits`(
        range: String, address: String, expected: Bool
    ) throws {
        let range = try #require(AddressRange(range))
        #expect(range.contains(try #require(PeerAddress(address))) == expected)
        #expect(!range.contains(.local))
    }

    @Test(arguments: [
        "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8",
        "10.0.0.1/8", "10.0.0", "::/129", "::1/64", "[::1]", "fe80::1%2", "a", "10.0.0.0 /8",
        "1.2.3.4\0", String(repeating: "1", count: 46),
    ])
    func `other text is no range`(text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test func `a client is an IPv4 address or an IPv6 network of 64 bits`() throws {
        let network = { try #require(PeerAddress($0)).network }
        #expect(try network("192.0.2.1") == network("::ffff:192.0.2.1"))
        #expect(try network("192.0.2.1") != network("192.0.2.2"))
        #expect(try network("2001:db8::1") == network("2001:db8::ffff:0:0:2"))
        #expect(try network("2001:db8::1") != network("2001:db8:0:1::1"))
        #expect(PeerAddress.local.network == nil)
    }
}

@Suite("The connections of one client", .timeLimit(.minutes(60)))
struct ConnectionGateTests {
    private let one = PeerAddress.ipv4(0xC000_0201, port: 1)

    @Test func `a limit for all holds wherever their connections are`() {
        let gate = ConnectionGate(maximum: 2)
        let peers: [PeerAddress] = [.local, .ipv4(0xC000_0201, port: 1), .local]
        #expect(peers.map { gate.admit($0) } == [true, true, false])
        #expect(gate.count(.limit) == 1)
        gate.ended(.local)
        #expect(gate.admit(one))
        #expect(!gate.admit(.local))
    }

    @Test func `a connection of a network without room does not count for all`() {
        let gate = ConnectionGate(maximum: 2, maximumPerNetwork: 1)
        #expect([one, one, one].map { gate.admit($0) } == [true, false, false])
        #expect(gate.admit(.local))
        #expect(gate.count(.address) == 2)
    }

    @Test func `beyond the limit a connection is refused, until another one has ended`() {
        let gate = ConnectionGate(maximumPerNetwork: 2)
        let admitted = (0..<3).map { gate.admit(.ipv4(0xC000_0201, port: $0)) }
        #expect(admitted == [true, true, false])
        #expect(gate.admit(.ipv4(0xC000_0202, port: 1)))
        #expect(gate.count(.address) == 1)
        gate.ended(one)
        #expect(gate.admit(one))
        #expect(!gate.admit(one))
        // Ends that were not admitted do not make room for more than the limit.
        for _ in 0..<9 { gate.ended(one) }
        #expect((0..<3).map { _ in gate.admit(one) } == [true, true, false])
    }

    @Test func `a new limit holds for the next connection, with those that are open`() {
        let gate = ConnectionGate(maximumPerNetwork: 3)
        #expect((0..<3).map { _ in gate.admit(one) } == [true, true, true])
        gate.limitNetworks(to: 2)
        #expect(!gate.admit(one))
        gate.ended(one)
        #expect(!gate.admit(one))
        gate.limitNetworks(to: 4)
        #expect((0..<3).map { _ in gate.admit(one) } == [true, true, false])
    }

    @Test func `exempt networks and Unix sockets have no limit`() {
        let gate = ConnectionGate(maximumPerNetwork: 1, exempt: AddressRange.loopback)
        for _ in 0..<5 {
            #expect(gate.admit(.ipv4(0x7F00_0001, port: 1)))
            #expect(gate.admit(.local))
        }
    }

    @Test(arguments: PollerKind.allCases)
    func `a listener resets the connections beyond the limit of a client`(
        _ poller: PollerKind
    ) async throws {
        let gate = ConnectionGate(maximumPerNetwork: 2)
        let script = Scripted.Script(opened: { host, connection, _ in
            host.send(connection, Array("served".utf8))
        })
        let host = try Host(poller, gate: gate, script)
        let clients = try (0..<3).map { _ in try host.connect() }
        #expect(clients[0].receiveText(6) == "served")
        #expect(clients[1].receiveText(6) == "served")
        #expect(clients[2].receiveText(6) == "")
        #expect(gate.count(.address) == 1)
        // The handler reports the end; then there is room again.
        gate.ended(.ipv4(0x7F00_0001, port: 1))
        #expect(try host.connect().receiveText(6) == "served")
        await host.end()
    }
}
