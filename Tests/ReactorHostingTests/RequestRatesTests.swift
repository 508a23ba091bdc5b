import Sockets
import Testing

@testable import ReactorHosting

@Suite("The rate of a client's requests", .timeLimit(.minutes(60)))
struct RequestRatesTests {
    private func network(_ number: Int) -> AddressNetwork {
        let address = PeerAddress(
            "10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)")
        guard let network = address?.network else { preconditionFailure("an IPv4 address") }
        return network
    }

    private func at(_ milliseconds: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
    }

    @Test func `a burst is admitted, then the average rate`() throws {
        let rates = RequestRates()
        let limit = try #require(RequestRates.Limit(rate: 10, burst: 3))
        let client = network(1)
        #expect((0..<3).allSatisfy { _ in rates.admit(client, at: at(0), limit) == nil })
        #expect(rates.admit(client, at: at(0), limit) == 100_000_000)
        // A refusal counts nothing: the wait grows shorter with time.
        #expect(rates.admit(client, at: at(40), limit) == 60_000_000)
        #expect(rates.admit(client, at: at(100), limit) == nil)
        #expect(rates.admit(client, at: at(100), limit) == 100_000_000)
        #expect(rates.admit(client, at: at(250), limit) == nil)
        #expect(rates.admit(client, at: at(250), limit) == 50_000_000)
        // After a long pause the burst is whole again, and not larger.
        #expect((0..<3).allSatisfy { _ in rates.admit(client, at: at(60_000), limit) == nil })
        #expect(rates.admit(client, at: at(60_000), limit) != nil)
    }

    @Test func `another limit holds from the next request on`() throws {
        let rates = RequestRates()
        let narrow = try #require(RequestRates.Limit(rate: 1, burst: 1))
        let wide = try #require(RequestRates.Limit(rate: 10, burst: 5))
        let client = network(1)
        #expect(rates.admit(client, at: at(0), narrow) == nil)
        #expect(rates.admit(client, at: at(0), narrow) != nil)
        // The earlier request counts with its time: the bucket is full again after a second.
        #expect(rates.admit(client, at: at(0), wide) == 600_000_000)
        #expect(rates.admit(client, at: at(600), wide) == nil)
        #expect(RequestRates.Limit(rate: 0, burst: 5) == nil)
    }

    @Test func `each client has its own rate`() throws {
        let rates = RequestRates()
        let limit = try #require(RequestRates.Limit(rate: 1, burst: 1))
        for number in 0..<100 { #expect(rates.admit(network(number), at: at(0), limit) == nil) }
        for number in 0..<100 { #expect(rates.admit(network(number), at: at(999), limit) != nil) }
        for number in 0..<100 { #expect(rates.admit(network(number), at: at(1_000), limit) == nil) }
    }

    @Test func `beyond the room for clients they share one rate, until others are idle`() throws {
        let rates = RequestRates()
        let limit = try #require(RequestRates.Limit(rate: 1, burst: 1))
        let count = 16 * RequestRates.limit
        for number in 0..<(3 * count) { _ = rates.admit(network(number), at: at(0), limit) }
        let refused = (3 * count..<3 * count + 1_000).count {
            rates.admit(network($0), at: at(1), limit) != nil
        }
        #expect(refused == 1_000)
        // The full parts are swept, and the clients of before have full buckets.
        let admitted = (3 * count..<3 * count + 1_000).count {
            rates.admit(network($0), at: at(2_000), limit) == nil
        }
        #expect(admitted == 1_000)
    }

    @Test func `the problem says how long to wait`() throws {
        let limit = try #require(RequestRates.Limit(rate: 2, burst: 5))
        let problem = limit.problem(waiting: 1_200_000_000)
        #expect(problem.status == 429)
        let fields = Dictionary(problem.fields.map { ($0.name, $0.value) }) { $1 }
        #expect(fields["Retry-After"] == "2")
        #expect(fields["RateLimit"] == "\"requests\";r=0;t=2")
        #expect(fields["RateLimit-Policy"] == "\"requests\";q=5;w=3")
    }
}

@Suite("The client behind proxies", .timeLimit(.minutes(60)))
struct ClientAddressTests {
    private func find(
        _ lines: [String], peer: String = "10.0.0.1", proxies: [String] = ["10.0.0.0/8"]
    ) throws -> String {
        let head = try HeadOf("GET", "/livez", lines.map { "X-Forwarded-For: \($0)" }).head
        let peer = peer == "local" ? .local : try #require(PeerAddress(peer))
        return ClientAddress(behind: proxies).find(head, peer: peer).host
    }

    @Test(arguments: [
        (["192.0.2.1"], "192.0.2.1"), (["192.0.2.1:80"], "192.0.2.1"),
        (["2001:db8::1"], "2001:db8::1"),
        (["[2001:db8::1]:80"], "2001:db8::1"), (["[2001:db8::1]"], "2001:db8::1"),
        // The client can send anything before what its proxy appends.
        (["203.0.113.9, 192.0.2.1"], "192.0.2.1"), (["203.0.113.9", "192.0.2.1"], "192.0.2.1"),
        (["203.0.113.9,192.0.2.1,10.0.0.2,10.3.0.1"], "192.0.2.1"),
        // All are proxies: the farthest one.
        (["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
        // No address: the proxy that said so.
        ([], "10.0.0.1"), (["unknown"], "10.0.0.1"), (["192.0.2.1, , 10.0.0.2"], "10.0.0.2"),
        (["192.0.2.1, x"], "10.0.0.1"), ([""], "10.0.0.1"), (["[::1"], "10.0.0.1"),
    ])
    func `X-Forwarded-For names the last address that is no proxy`(
        lines: [String], expected: String
    ) throws {
        #expect(try find(lines) == expected)
    }

    // The rest of the field is the client's: as long as a head may be.
    @Test func `32 proxies are followed, and elements that are too long name nobody`() throws {
        let proxies = (1...40).map { "10.0.1.\($0)" }.joined(separator: ",")
        #expect(try find(["192.0.2.1,\(proxies)"]) == "10.0.1.9")
        let few = (1...31).map { "10.0.1.\($0)" }.joined(separator: ",")
        #expect(try find(["192.0.2.1,\(few)"]) == "192.0.2.1")
        let long = "192.0.2.1" + String(repeating: " ", count: 1_024)
        #expect(try find(["192.0.2.9, \(long), 10.0.0.2"]) == "10.0.0.2")
    }

    @Test func `only trusted proxies are believed, and only in their field`() throws {
        #expect(try find(["192.0.2.1"], peer: "203.0.113.9") == "203.0.113.9")
        #expect(try find(["192.0.2.1"], proxies: []) == "10.0.0.1")
        let head = try HeadOf("GET", "/livez", "Forwarded: for=192.0.2.1").head
        let client = ClientAddress(behind: ["10.0.0.0/8"])
        #expect(client.find(head, peer: .ipv4(0x0A00_0001, port: 1)).host == "10.0.0.1")
    }

    @Test func `a proxy at a Unix socket is believed if it is named`() throws {
        let lines = ["192.0.2.1"]
        #expect(try find(lines, peer: "local", proxies: ["unix"]) == "192.0.2.1")
        #expect(try find(lines, peer: "local") == "local")
    }
}
