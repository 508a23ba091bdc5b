import Testing

@testable import ReactorClient

#if os(Linux)
    @Suite("libcurl's handles serve one request after another", .timeLimit(.minutes(60)))
    struct CurlHandleTests {
        private static let key = TransportField("Idempotency-Key", "k")

        @Test func `threads that send and cancel at once get their own responses`() async throws {
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    let path = String(request.split(separator: " ")[1])
                    peer.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
                }
            }
            let transport = try localTransport()
            let stream = Recorder().start(
                TransportRequest("GET", "\(server.address)/stream", isStream: true), on: transport)
            #expect(await stream.response().text == "/stream")
            await withTaskGroup(of: Void.self) { group in
                for sender in 0..<8 {
                    group.addTask {
                        for number in 0..<200 {
                            let path = "/\(sender)/\(number)"
                            let recorder = Recorder().start(
                                TransportRequest(
                                    "POST", server.address + path, fields: [Self.key],
                                    body: Array(path.utf8)), on: transport)
                            let isCancelled = number % 7 == sender % 7
                            if isCancelled { recorder.handle.cancel() }
                            let response = await recorder.response()
                            #expect(response.hasEnded)
                            if !isCancelled || response.failure == nil {
                                #expect(response.text == path)
                                #expect(response.failure == nil)
                            }
                        }
                    }
                }
            }
        }

        @Test func `a handle that is used again has nothing of the request before`() async throws {
            let requests = Requests()
            let server = try ScriptedServer { peer in
                while let request = peer.request() {
                    requests.append(request)
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
            }
            let transport = try localTransport()
            let posts = [
                TransportRequest(
                    "POST", "\(server.address)/long", body: Array("a longer body".utf8)),
                TransportRequest("POST", "\(server.address)/b", body: Array("b".utf8)),
                TransportRequest("POST", "\(server.address)/none"),
            ]
            let names = [["Authorization", "If-Match"], ["User-Agent"], []]
            for (post, names) in zip(posts, names) {
                var post = post
                post.fields = [Self.key] + names.map { TransportField($0, "x") }
                #expect(await transport.response(of: post).status == 200)
            }
            let host = "HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"
            let first =
                "POST /long \(host)Idempotency-Key: k\r\nAuthorization: x\r\nIf-Match: x\r\n"
                + "Content-Length: 13\r\n\r\na longer body"
            let second =
                "POST /b \(host)Idempotency-Key: k\r\nUser-Agent: x\r\nContent-Length: 1\r\n\r\nb"
            let third = "POST /none \(host)Idempotency-Key: k\r\nContent-Length: 0\r\n\r\n"
            #expect(requests.all.map(sorted) == [first, second, third].map(sorted))
        }

        /// The lines without their order: libcurl puts some fields in front.
        private func sorted(_ request: String) -> [Substring] {
            request.split(separator: "\r\n").sorted()
        }

        @Test func `each of many connections may turn out to be closed`() async throws {
            // One response for each connection; the next request on it is not answered.
            let server = try ScriptedServer { peer in
                guard peer.request() != nil else { return }
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                _ = peer.request()
            }
            let transport = try localTransport()
            let post = TransportRequest("POST", server.address, fields: [Self.key], body: [1])
            for _ in 0..<20 {
                let response = await transport.response(of: post)
                #expect(response.failure == nil)
                #expect(response.text == "hi")
            }
        }
    }
#endif
