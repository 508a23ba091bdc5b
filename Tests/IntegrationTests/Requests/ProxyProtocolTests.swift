import ReactorHosting
import Storage
import Testing

@Suite("The PROXY protocol — a trusted proxy names its client", .timeLimit(.minutes(15)))
struct ProxyProtocolTests {
    private static let get = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func line(_ address: String) -> String {
        "PROXY TCP4 \(address) 198.51.100.1 4711 80\r\n"
    }

    private func withProxied(
        _ adjust: @escaping (inout Configuration) -> Void = { _ in },
        _ act: (LocalServer) async throws -> Void
    ) async throws {
        try await LocalServer.with(MemoryJournal()) {
            $0.clientAddressField = .proxyProtocol
            $0.trustedProxies = ["127.0.0.1"]
            adjust(&$0)
        } _: { server in
            try await act(server)
        }
    }

    private func status(_ server: LocalServer, _ bytes: String) async throws -> Int? {
        let connection = try server.connect()
        await connection.send(bytes)
        return await connection.answers(1).first?.head.status
    }

    private func refusals(_ server: LocalServer, _ reason: String) async throws -> String? {
        let connection = try server.connect()
        await connection.send("PROXY UNKNOWN\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        let page = await connection.answers(1).first?.body ?? ""
        let start = "reactor_connections_refused_total{reason=\"\(reason)\"} "
        return page.split(separator: "\n").first { $0.hasPrefix(start) }
            .map { String($0.dropFirst(start.count)) }
    }

    @Test func `requests follow the header, however it is split`() async throws {
        try await withProxied { server in
            let connection = try server.connect()
            for byte in Self.line("192.0.2.1") { await connection.send(String(byte)) }
            await connection.send(Self.get + Self.get)
            #expect(await connection.answers(2).map(\.head.status) == [200, 200])
            let block: [UInt8] =
                [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10, 0x21, 0x11, 0, 12]
                + [192, 0, 2, 1, 198, 51, 100, 2, 1, 2, 0, 80]
            let second = try server.connect()
            await second.send(block + Array(Self.get.utf8))
            #expect(await second.answers(1).first?.head.status == 200)
        }
    }

    @Test(arguments: [
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", "PROXY TCP4 192.0.2.1 198.51.100.1 4711\r\n",
        "\r\n\r\n\r\n",
    ])
    func `a connection without a good header is reset and counted`(bytes: String) async throws {
        try await withProxied { server in
            let status = try await status(server, bytes)
            #expect(status == nil)
            let refusals = try await refusals(server, "header")
            #expect(refusals == "1")
        }
    }

    @Test func `a header that does not arrive in time is refused`() async throws {
        try await withProxied {
            $0.stallTimeout = .milliseconds(200)
        } _: { server in
            for bytes in ["", "PROXY TCP4 "] {
                let connection = try server.connect()
                await connection.send(bytes)
                #expect(await connection.receiveAll().bytes == [])
            }
            let refusals = try await refusals(server, "header")
            #expect(refusals == "2")
        }
    }

    // The sessions x and y are on the loops 0 and 1: connections move.
    @Test func `the connections of a client are counted under its own address`() async throws {
        try await withProxied {
            $0.loops = 2
            $0.addressConnectionLimit = 2
        } _: { server in
            func open(_ address: String, _ session: String) async throws -> RawConnection? {
                let connection = try server.connect()
                await connection.send(
                    Self.line(address) + "GET /v1/sessions/\(session) HTTP/1.1\r\nHost: a\r\n\r\n")
                return await connection.answers(1).first?.head.status == 404 ? connection : nil
            }
            var held = [try await open("192.0.2.1", "x"), try await open("192.0.2.1", "y")]
            #expect(held.allSatisfy { $0 != nil })
            #expect(try await open("192.0.2.1", "x") == nil)
            let refusals = try await refusals(server, "address")
            #expect(refusals == "1")
            #expect(try await open("192.0.2.2", "x") != nil)
            // The server sees each end a moment later.
            for _ in 0..<4 {
                held.removeLast()
                var next = try await open("192.0.2.1", "y")
                while next == nil { next = try await open("192.0.2.1", "y") }
                held.insert(next, at: 0)
            }
        }
    }

    @Test func `one client does not use the memory for the bodies of others`() async throws {
        try await withProxied {
            $0.bodyBudgetBytes = 400_000
            $0.bodyLimitBytes = 50_000
            $0.stallTimeout = .seconds(600)
        } _: { server in
            let post =
                "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                + "Content-Length: 40020\r\n\r\n"
            let start = String(repeating: " ", count: 40_000)
            // Each takes more than 40 000 bytes: there is room for two of a client, and for nine of all.
            func begin(_ address: String) async throws -> RawConnection {
                let connection = try server.connect()
                await connection.send(Self.line(address) + post + start)
                return connection
            }
            var open: [RawConnection] = []
            for _ in 1...12 { open.append(try await begin("192.0.2.1")) }
            let other = try await begin("192.0.2.2")
            await other.send(#"{"reactor":"alerts"}"#)
            #expect(await other.answers(1).first?.head.status == 201)
            open.removeAll()
        }
    }

    @Test func `nobody but a trusted proxy names a client`() async throws {
        try await withProxied {
            $0.trustedProxies = ["10.0.0.1"]
        } _: { server in
            let plain = try await status(server, Self.get)
            #expect(plain == 200)
            let named = try await status(server, Self.line("192.0.2.1") + Self.get)
            #expect(named == 400)
        }
        try await withProxied {
            $0.clientAddressField = .xForwardedFor
        } _: { server in
            let named = try await status(server, Self.line("192.0.2.1") + Self.get)
            #expect(named == 400)
        }
    }

    @Test func `without trusted proxies the server does not start`() async throws {
        await #expect(throws: ConfigurationFailure.self) {
            try await withProxied {
                $0.trustedProxies = []
            } _: { _ in
            }
        }
    }

    @Test func `the health check sends the header that is due`() async throws {
        try await withProxied { server in
            let check = try await ServerProcess.run(
                .server,
                [
                    "healthcheck", "--port", "\(server.port)", "--client-address-field",
                    "proxy-protocol",
                    "--trusted-proxies", "127.0.0.1",
                ])
            #expect(check.exit == .code(0), "\(check.errors)")
        }
    }
}
