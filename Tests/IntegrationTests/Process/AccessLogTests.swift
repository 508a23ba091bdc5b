import Foundation
import Testing

@Suite("The access log", .timeLimit(.minutes(60)))
struct AccessLogTests {
    /// The lines of the access log, once there are `count`.
    private func lines(_ server: ServerProcess, _ count: Int) async throws -> [[String: String]] {
        let text = { (log: ProcessLog.Present) in
            log.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast().filter {
                // The start of the server asks for /readyz.
                $0.contains(#""logger":"reactor-server.access""#) && !$0.contains("readyz")
            }
        }
        try await server.log.wait { text($0).count >= count || $0.exit != nil }
        return try text(server.log.present).map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(object as? [String: Any]).mapValues { "\($0)" }
        }
    }

    @Test func `each response has one line, without the query`() async throws {
        try await withServer(
            .server, "--access-log", "on", "--log-format", "json", "--log-level", "critical"
        ) { server in
            let connection = try RawConnection(port: server.port)
            let requests = [
                "GET /livez?ticket=secret HTTP/1.1\r\nHost: a\r\nX-Request-Id: one\r\n\r\n",
                "HEAD /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /nothing/%22%0A?x HTTP/1.1\r\nHost: a\r\n\r\n",
                "PUT /v1/sessions/s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 20\r\n\r\n{\"reactor\":\"alerts\"}",
                "POST /v1/sessions/s/actions HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 4\r\n\r\nnull",
                "POST /v1/sessions/s/actions HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 30\r\n\r\n"
                    + #"{"type":"alert","message":"a"}"#,
                "DELETE /v1/sessions/s HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /v1/sessions/s/pulses HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET\r\n\r\n",
            ]
            var answers: [RawAnswer] = []
            for request in requests {
                await connection.send(request)
                if request.hasPrefix("HEAD") {
                    _ = await connection.receive(until: "\r\n\r\n")
                    answers.append(RawAnswer())
                } else {
                    answers += await connection.answers(1)
                }
            }
            let lines = try await lines(server, requests.count)
            #expect(lines.count == requests.count)
            #expect(
                lines.map {
                    "\($0["method"] ?? "?") \($0["path"] ?? "?") \($0["operation"] ?? "?")"
                }
                    == [
                        "GET /livez livez", "HEAD /openapi.yaml openapi",
                        "GET /nothing/%22%0A none",
                        "PUT /v1/sessions/s putSession", "POST /v1/sessions/s/actions postActions",
                        "POST /v1/sessions/s/actions postActions",
                        "DELETE /v1/sessions/s deleteSession",
                        "GET /v1/sessions/s/pulses streamPulses", "  none",
                    ])
            #expect(
                lines.map { $0["status"] } == [
                    "400", "200", "404", "201", "422", "200", "204", "204", "400",
                ])
            #expect(lines[0]["request_id"] == "one")
            #expect(lines[1]["bytes"] == "0")
            #expect(lines[6]["bytes"] == "0")
            #expect(lines[2]["code"] == "unknown_path")
            #expect(lines.allSatisfy { $0["level"] == "info" && $0["duration_ms"] != nil })
            #expect(lines.allSatisfy { $0["peer"]?.hasPrefix("127.0.0.1:") == true })
            #expect(!server.log.present.errors.contains("secret"))
            // The bytes of a body are those that the client received.
            for index in [0, 2, 3, 4, 5, 8] {
                #expect(lines[index]["bytes"] == String(answers[index].body.utf8.count), "\(index)")
            }
        }
    }

    @Test func `a stream has its line at its end, with bytes and time`() async throws {
        try await withServer(
            .server, "--access-log", "on", "--log-format", "json", "--log-level", "critical"
        ) { server in
            let session = try await server.client().session("alerts")
            let stream = try await session.open("pulses?ticket=secret")
            try await session.alert(String(repeating: "x", count: 5_000))
            let event = try await stream.next(2)
            #expect(event.count == 2)
            #expect(
                try await lines(server, 2).allSatisfy { $0["operation"] != "streamPulses" })
            await stream.close()
            let line = try #require(
                try await lines(server, 3).first { $0["operation"] == "streamPulses" })
            #expect(line["path"] == "\(session.path)/pulses")
            #expect(line["status"] == "200")
            #expect(try #require(line["bytes"].flatMap { Int($0) }) > 5_000)
            #expect(line["duration_ms"].flatMap { Double($0) } ?? -1 > 0)
        }
    }

    @Test func `it can be switched on and off by a reload, and is off by default`() async throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/server.conf"
        try "log-format = json\n".write(toFile: path, atomically: true, encoding: .utf8)
        try await withServer(.server, "--config", path) { server in
            let client = server.client()
            _ = try await client.get("/livez")
            for (number, choice) in ["on", "off"].enumerated() {
                try "log-format = json\naccess-log = \(choice)\n".write(
                    toFile: path, atomically: true, encoding: .utf8)
                server.signal(1)
                try await server.log.wait {
                    $0.errors.ranges(of: "the settings were reloaded").count == number + 1
                }
                _ = try await client.get("/openapi.yaml")
            }
            server.signal(15)
            _ = try await server.exit()
            #expect(try await lines(server, 1).map { $0["path"] } == ["/openapi.yaml"])
        }
    }
}
