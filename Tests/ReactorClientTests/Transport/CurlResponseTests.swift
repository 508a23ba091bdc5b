import Synchronization
import TestRandomness
import Testing

@testable import ReactorClient

#if os(Linux)
    /// A server that responds to each request with these bytes, and closes.
    private func server(
        _ bytes: [UInt8], piece: Int = .max, resets: Bool = false
    ) throws -> ScriptedServer {
        try ScriptedServer { peer in
            guard peer.request() != nil else { return }
            var rest = bytes[...]
            while !rest.isEmpty {
                guard peer.send(rest.prefix(piece)) else { return }
                rest = rest.dropFirst(piece)
            }
            if resets { peer.reset() }
        }
    }

    private func request(_ server: ScriptedServer) -> TransportRequest {
        TransportRequest("GET", server.address)
    }

    @Suite("a response is whole, or a failure", .timeLimit(.minutes(60)))
    struct CurlResponseTests {
        static let sized = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nA: b\r\n\r\nhello world"
        static let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n"
            + "6\r\nhello \r\n5;x=y\r\nworld\r\n0\r\nTrailer: t\r\n\r\n"

        @Test(arguments: [sized, chunked])
        func `a response that is cut at any byte is a failure`(_ text: String) async throws {
            let bytes = Array(text.utf8)
            let transport = try localTransport()
            // The line feed after the last chunk says nothing: libcurl does not wait for it.
            let count = text == Self.chunked ? bytes.count - 1 : bytes.count
            for end in 0..<count {
                for resets in [false, true] {
                    let server = try server(Array(bytes.prefix(end)), resets: resets)
                    let response = await transport.response(of: request(server))
                    let failure = try #require(response.failure, "cut at \(end)")
                    #expect([.interrupted, .badResponse].contains(failure.kind), "cut at \(end)")
                    #expect("hello world".hasPrefix(response.text))
                }
            }
        }

        @Test(arguments: [sized, chunked])
        func `pieces of any size give the same response`(_ text: String) async throws {
            let transport = try localTransport()
            for piece in [1, 2, 3, 7, 1_000] {
                let server = try server(Array(text.utf8), piece: piece)
                let response = await transport.response(of: request(server))
                #expect(response.failure == nil)
                #expect(response.status == 200)
                #expect(response.fields.last == TransportField("A", "b"))
                #expect(response.text == "hello world")
            }
        }

        @Test func `a body without a length ends with the connection`() async throws {
            let server = try server(Array("HTTP/1.0 200 OK\r\n\r\nuntil the end".utf8))
            let response = try await localTransport().response(of: request(server))
            #expect(response.failure == nil)
            #expect(response.text == "until the end")
        }

        @Test func `a connection that is closed without a byte was interrupted`() async throws {
            let server = try ScriptedServer { peer in _ = peer.request() }
            let response = try await localTransport().response(of: request(server))
            #expect(response.failure?.kind == .interrupted)
            #expect(response.status == 0)
        }

        @Test func `informational responses are passed over`() async throws {
            let text =
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + Self.sized
            let server = try server(Array(text.utf8))
            let response = try await localTransport().response(of: request(server))
            #expect(response.failure == nil)
            #expect(response.status == 200)
            #expect(!response.fields.contains { $0.name == "Link" })
            #expect(response.text == "hello world")
        }

        /// By their names, since a test's arguments are in its log.
        private static let largeHeads = [
            "one line":
                "HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 1_048_576))\r\n\r\n",
            "many lines":
                "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 200_000) + "\r\n",
            "many heads":
                String(repeating: "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", count: 50_000)
                + "HTTP/1.1 200 OK\r\n\r\n",
        ]

        @Test(arguments: largeHeads.keys.sorted())
        func `a head of 1 MiB is a failure`(_ name: String) async throws {
            let head = try #require(Self.largeHeads[name])
            let server = try server(Array(head.utf8))
            let response = try await localTransport().response(of: request(server))
            #expect(response.status == 0)
            #expect(response.body.isEmpty)
            // One line of that length is refused by libcurl itself.
            #expect(response.failure != nil)
            #expect(response.failure?.kind != .cancelled)
        }

        @Test func `a head that is larger than permitted is a failure with its bound`() async throws
        {
            let text = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 300) + "\r\n"
            let server = try server(Array(text.utf8))
            let transport = try localTransport { $0.headLimitBytes = 1_000 }
            let response = await transport.response(of: request(server))
            #expect(
                response.failure
                    == TransportFailure(
                        .badResponse, "the head of the response has more than 1000 bytes"))
        }

        @Test(arguments: [
            "hello\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n", "\u{0}\u{0}\u{0}\u{0}",
        ])
        func `bytes that are no response are a failure`(_ text: String) async throws {
            let server = try server(Array(text.utf8))
            let response = try await localTransport().response(of: request(server))
            #expect(response.hasEnded)
            #expect(response.failure != nil)
        }

        @Test func `random bytes have one end, and leave the transport usable`() async throws {
            let transport = try localTransport()
            for seed in 0..<200 as Range<UInt64> {
                var generator = SeededGenerator(seed: seed)
                var bytes = Array(seed.isMultiple(of: 2) ? Self.sized.utf8 : Self.chunked.utf8)
                for _ in 0..<Int.random(in: 1...8, using: &generator) {
                    let index = Int.random(in: 0..<bytes.count, using: &generator)
                    bytes[index] = UInt8.random(in: 0...255, using: &generator)
                }
                let server = try server(bytes)
                #expect(await transport.response(of: request(server)).hasEnded)
            }
            let server = try server(Array(Self.sized.utf8))
            #expect(await transport.response(of: request(server)).text == "hello world")
        }
    }
#endif
