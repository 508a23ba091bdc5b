import Synchronization
import TestRandomness
import Testing

@testable import ReactorClient

#if os(Linux)
    /// A transport for servers of this machine.
    func localTransport(
        _ change: (inout CurlSettings) -> Void = { _ in }
    ) throws -> CurlTransport {
        var settings = CurlSettings()
        settings.proxy = ""
        change(&settings)
        return try CurlTransport(settings)
    }

    @Suite("libcurl carries a request, and nothing but that", .timeLimit(.minutes(60)))
    struct CurlTransportTests {
        @Test
        func `a POST that no key protects is sent once, also over a connection that was kept`()
            async throws
        {
            let requests = Requests()
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    let method = String(request.prefix { $0 != " " })
                    requests.append(method)
                    // It is carried out, and the connection is closed without a response.
                    guard method == "GET" else { return }
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                }
            }
            let transport = try localTransport()
            let get = TransportRequest("GET", server.address)
            let key = TransportField("Idempotency-Key", "k")
            // libcurl repeats one with a key, which shows that the others were in danger: not each
            // time, since the end of the connection may come in two ways.
            var isRepeated = false
            for _ in 0..<100 where !isRepeated {
                for fields in [[], [key]] {
                    let known = requests.all.count
                    #expect(await transport.response(of: get).text == "hi")
                    let post = TransportRequest("POST", server.address, fields: fields, body: [1])
                    #expect(await transport.response(of: post).failure != nil)
                    let posts = requests.all.dropFirst(known).count { $0 == "POST" }
                    if fields.isEmpty { #expect(posts == 1) } else { isRepeated = posts == 2 }
                }
            }
            #expect(isRepeated)
        }

        @Test func `a request leaves as it is, with no field that nobody has named`() async throws {
            let requests = Requests()
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    requests.append(request)
                    peer.send(
                        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nhi")
                }
            }
            let transport = try localTransport()
            let body = [UInt8](repeating: UInt8(ascii: "x"), count: 1_500_000)
            let post = TransportRequest(
                "POST", "\(server.address)/v1/a/../b?c=%20", fields: [.init("Empty", "")],
                body: body)
            let response = await transport.response(of: post)
            #expect(response.status == 200)
            #expect(response.text == "hi")
            #expect(
                response.fields == [.init("Set-Cookie", "a=b"), .init("Content-Length", "2")])
            #expect(response.failure == nil)
            for method in ["GET", "DELETE", "PUT"] {
                let second = TransportRequest(method, "\(server.address)/")
                #expect(await transport.response(of: second).text == "hi")
            }
            let host = "Host: 127.0.0.1:\(server.port)\r\n"
            let large = String(decoding: body, as: UTF8.self)
            #expect(
                requests.all == [
                    "POST /v1/a/../b?c=%20 HTTP/1.1\r\n\(host)Empty:\r\nContent-Length: 1500000\r\n"
                        + "\r\n\(large)",
                    "GET / HTTP/1.1\r\n\(host)\r\n",
                    "DELETE / HTTP/1.1\r\n\(host)\r\n",
                    "PUT / HTTP/1.1\r\n\(host)Content-Length: 0\r\n\r\n",
                ])
        }

        @Test func `a redirect is a response like others`() async throws {
            let requests = Requests()
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    requests.append(request)
                    peer.send(
                        "HTTP/1.1 307 Over there\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
                }
            }
            let response = try await localTransport().response(
                of: TransportRequest("POST", server.address, body: [1]))
            #expect(response.status == 307)
            #expect(response.fields.first == TransportField("Location", "/other"))
            #expect(requests.all.count == 1)
        }

        @Test func `a request that would be another one on the wire does not leave`() async throws {
            let requests = Requests()
            let server = try ScriptedServer { peer in
                while let request = peer.request() { requests.append(request) }
            }
            let transport = try localTransport()
            let url = server.address
            let bad = [
                TransportRequest("GET / HTTP/1.1\r\nA: b\r\n\r\n", url),
                TransportRequest("", url),
                TransportRequest("GET", "\(url)/a b"),
                TransportRequest("GET", "\(url)/\r\nA: b"),
                TransportRequest("GET", "\(url)/ä"),
                TransportRequest("GET", "\(url)/\u{0}"),
                TransportRequest("GET", "file:///etc/passwd"),
                TransportRequest("GET", "ftp://127.0.0.1/"),
                TransportRequest("GET", "127.0.0.1"),
                TransportRequest("GET", ""),
                TransportRequest("GET", "http://a:b@127.0.0.1:\(server.port)/"),
                TransportRequest("GET", url, fields: [.init("A", "b\r\nC: d")]),
                TransportRequest("GET", url, fields: [.init("A", "b\u{0}")]),
                TransportRequest("GET", url, fields: [.init("A: b\r\nC", "d")]),
                TransportRequest("GET", url, fields: [.init("", "d")]),
            ]
            for request in bad {
                let response = await transport.response(of: request)
                #expect(response.failure?.kind == .badRequest, "\(request)")
                #expect(response.failure?.message.isEmpty == false)
            }
            #expect(requests.all.isEmpty)
        }

        @Test func `an address where nobody listens is unreachable`() async throws {
            var server: ScriptedServer? = try ScriptedServer { _ in }
            let address = try #require(server?.address)
            server = nil
            let transport = try localTransport()
            var failure: TransportFailure?
            // The listener is closed by its own thread.
            repeat {
                failure = await transport.response(of: TransportRequest("GET", address)).failure
            } while failure?.kind == .interrupted
            #expect(failure?.kind == .unreachable)
            #expect(failure?.message.contains("127.0.0.1") == true)
        }

        @Test func `1000 requests at once each get their own response`() async throws {
            let now = Mutex(0)
            let most = Mutex(0)
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    let count = now.withLock { now in
                        now += 1
                        return now
                    }
                    most.withLock { $0 = max($0, count) }
                    let body = request.split(separator: " ")[1]
                    now.withLock { $0 -= 1 }
                    peer.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                }
            }
            let transport = try localTransport { $0.requestsAtOnce = 20 }
            let texts = await withTaskGroup(of: (Int, Response).self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        let url = "\(server.address)/\(number)"
                        return (number, await transport.response(of: TransportRequest("GET", url)))
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1.text }
            }
            #expect(texts == Dictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, "/\($0)") }))
            #expect(most.withLock { $0 } <= 20)
        }

        @Test func `streams are not counted, and waiting requests keep their order`() async throws {
            let order = Requests()
            let held = Requests()
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    let path = String(request.split(separator: " ")[1])
                    if path == "/stream" {
                        held.append(path)
                        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                        peer.waitForClose()
                        return
                    }
                    order.append(path)
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
            }
            let transport = try localTransport { $0.requestsAtOnce = 1 }
            let streams = (0..<3).map { _ in
                Recorder().start(
                    TransportRequest("GET", "\(server.address)/stream", isStream: true),
                    on: transport)
            }
            let exchanges = (0..<50).map { number in
                Recorder().start(
                    TransportRequest("GET", "\(server.address)/\(number)"), on: transport)
            }
            exchanges[7].handle.cancel()
            for (number, exchange) in exchanges.enumerated() {
                let response = await exchange.response()
                if number != 7 { #expect(response.status == 200) }
            }
            let expected = (0..<50).map { "/\($0)" }
            #expect(order.all.filter { $0 != "/7" } == expected.filter { $0 != "/7" })
            for stream in streams {
                stream.handle.cancel()
                #expect(await stream.response().failure?.kind == .cancelled)
            }
            #expect(held.all.count <= 3)
        }

        @Test func `one request more than the limit fails at once`() async throws {
            let server = try ScriptedServer { peer in
                _ = peer.request()
                peer.waitForClose()
            }
            let transport = try localTransport { $0.requestLimit = 3 }
            let request = TransportRequest("GET", server.address)
            let held = (0..<3).map { _ in Recorder().start(request, on: transport) }
            let more = await transport.response(of: request)
            #expect(more.failure?.kind == .exhausted)
            #expect(more.failure?.message.contains("3") == true)
            held[0].handle.cancel()
            _ = await held[0].response()
            let next = Recorder().start(request, on: transport)
            next.handle.cancel()
            #expect(await next.response().failure?.kind == .cancelled)
        }
    }

    /// The requests that a server has received, in order.
    final class Requests: Sendable {
        private let requests = Mutex<[String]>([])

        func append(_ request: String) { requests.withLock { $0.append(request) } }

        var all: [String] { requests.withLock(\.self) }
    }
#endif
