import Foundation
import Glibc
import Testing

@Suite("The rate of requests", .timeLimit(.minutes(60)))
struct RateTests {
    @Test func `beyond the rate 429 says when to return, and nothing is applied`() async throws {
        try await withServer(.server, "--request-rate", "1", "--request-burst", "1000") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            var accepted = 0
            var refusal: Response?
            // The rate refills during the test; bursts end nevertheless.
            while refusal == nil, accepted < 100_000 {
                let response = try await client.post(
                    "\(session.path)/actions", #"{"type":"alert","message":"x"}"#)
                if response.status == 429 { refusal = response } else { accepted += 1 }
            }
            let refused = try #require(refusal)
            #expect(accepted >= 990)
            #expect(refused["Retry-After"] == "1")
            #expect(refused["RateLimit"] == "\"requests\";r=0;t=1")
            #expect(refused["RateLimit-Policy"] == "\"requests\";q=1000;w=1000")
            #expect(try refused.json["code"] == "too_many_requests")
            // Probes are served under any load.
            for _ in 0..<10 {
                let probe = try await client.get("/livez")
                #expect(probe.status == 200)
            }
        }
    }

    // EventSource does not return after any status but 200.
    @Test func `a stream beyond the rate gets an event, and no 429`() async throws {
        try await withServer(
            .server, "--request-rate", "1", "--request-burst", "1", "--trusted-proxies", "127.0.0.1"
        ) { server in
            let session = try await server.client().session("alerts")
            // The rate refills meanwhile: until two requests come within a second.
            var first = "snapshot"
            while first == "snapshot" {
                let stream = try await session.open("pulses", [("X-Forwarded-For", "192.0.2.1")])
                #expect(await stream.head.status == 200)
                let event = try await stream.next()
                first = event.name
                guard first == "problem" else { continue }
                #expect(event.data.contains("too_many_requests"))
            }
            #expect(first == "problem")
        }
    }

    @Test func `clients behind a trusted proxy have rates of their own`() async throws {
        try await withServer(
            .server, "--request-rate", "1", "--request-burst", "2", "--trusted-proxies",
            "127.0.0.1"
        ) { server in
            let client = server.client()
            for address in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
                let fields = [("X-Forwarded-For", "203.0.113.1, \(address)")]
                var statuses: [Int] = []
                while statuses.last != 429, statuses.count < 10_000 {
                    statuses.append(try await client.get("/v1/reactors", fields).status)
                }
                #expect(statuses.count > 2, "\(address)")
                #expect(statuses.last == 429, "\(address)")
            }
        }
    }
}

@Suite("The connections of one client", .timeLimit(.minutes(60)))
struct AddressConnectionTests {
    /// An IPv4 address of this machine that is not a loopback address; nil if there is none.
    static let address: String? = {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&first) == 0 else { return nil }
        defer { unsafe freeifaddrs(first) }
        var next = unsafe first
        while let interface = unsafe next?.pointee {
            unsafe next = interface.ifa_next
            guard let address = unsafe interface.ifa_addr,
                unsafe Int32(address.pointee.sa_family) == AF_INET
            else { continue }
            let ipv4 = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            let bits = UInt32(bigEndian: ipv4.sin_addr.s_addr)
            guard bits >> 24 != 127 else { continue }
            return (0..<4).map { String(bits >> (24 - 8 * $0) & 0xFF) }.joined(separator: ".")
        }
        return nil
    }()

    private func livez(_ server: ServerProcess, _ host: String) async throws -> RawConnection? {
        let connection = try RawConnection(port: server.port, host: host)
        await connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return await connection.answers(1).first?.head.status == 200 ? connection : nil
    }

    @Test(.enabled(if: address != nil))
    func `beyond the limit they are reset, until another one has ended`() async throws {
        let host = try #require(Self.address)
        try await withServer(
            .server, "--host", host, "--allow-public", "--address-connection-limit", "2"
        ) { server in
            // The client that waited for the start has a connection, too.
            var open: [RawConnection] = []
            while let connection = try await livez(server, host) { open.append(connection) }
            #expect((1...2).contains(open.count))
            open.removeLast()
            // The server sees the end a moment later.
            while try await livez(server, host) == nil {}
        }
    }
}
