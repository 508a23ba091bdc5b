import Foundation
import Testing

@Suite("The log lines of requests", .timeLimit(.minutes(60)))
struct RequestLogTests {
    private let trace = "0af7651916cd43dd8448eb211c80319c"
    private var traceparent: String { "00-\(trace)-b7ad6b7169203331-01" }

    @Test func `lines of JSON name the request, its trace and its peer`() async throws {
        try await withServer(.server, "--log-level", "debug", "--log-format", "json") { server in
            let client = server.client()
            // On several sessions, so that some requests move to the loop of their session.
            for number in 1...8 {
                let session = try await client.session("alerts")
                let fields = [("X-Request-Id", "mine-\(number)"), ("traceparent", traceparent)]
                _ = try await client.get(session.path, fields.map { (name: $0.0, value: $0.1) })
            }
            let lines = try await lines(server) {
                $0.count { $0["operation"] == "readSession" } == 8
            }
            let read = lines.filter { $0["operation"] == "readSession" }
            #expect(read.map { $0["request_id"] } == (1...8).map { "mine-\($0)" })
            #expect(read.allSatisfy { $0["trace_id"] == trace && $0["status"] == "200" })
            #expect(read.allSatisfy { $0["peer"]?.hasPrefix("127.0.0.1:") == true })
            // The requests that made the sessions have ids of their own, and no trace.
            let made = lines.filter { $0["operation"] == "putSession" }
            #expect(made.allSatisfy { $0["request_id"]?.count == 16 && $0["trace_id"] == nil })
            #expect(Set(made.map { $0["request_id"] }).count == 8)
        }
    }

    @Test func `a stream's line names the request that opened it`() async throws {
        try await withServer(.server, "--log-level", "debug", "--log-format", "json") { server in
            let session = try await server.client().session("alerts")
            let stream = try await session.open(
                "pulses", [("X-Request-Id", "stream"), ("traceparent", traceparent)])
            await stream.close()
            let line = try #require(
                try await lines(server) { $0.contains { $0["message"] == "stream ended" } }
                    .first { $0["message"] == "stream ended" })
            #expect(line["request_id"] == "stream")
            #expect(line["trace_id"] == trace)
            #expect(line["operation"] == "streamPulses")
            #expect(line["duration_ms"].flatMap { Double($0) } != nil)
        }
    }

    @Test func `bytes that are no request have none of the ids before them`() async throws {
        try await withServer(.server, "--log-level", "debug", "--log-format", "json") { server in
            let connection = try RawConnection(port: server.port)
            await connection.send(
                "GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: first\r\n"
                    + "traceparent: \(traceparent)\r\n\r\nGET\r\n\r\n")
            _ = await connection.answers(2)
            let lines = try await lines(server) { $0.contains { $0["status"] == "400" } }
            let refused = try #require(lines.first { $0["status"] == "400" })
            #expect(refused["operation"] == "none")
            #expect(refused["request_id"]?.count == 16)
            #expect(refused["trace_id"] == nil)
            #expect(
                lines.first { $0["operation"] == "livez" && $0["request_id"] == "first" } != nil)
        }
    }

    @Test func `a start that fails says why in the form of the log`() async throws {
        let run = try await ServerProcess.run(
            .server, ["--host", "no-such-host.invalid", "--port", "0", "--log-format", "json"],
            environment: ["REACTOR_PROT": "1"])
        #expect(run.exit == .code(1))
        let lines = try Self.parse(run.errors)
        #expect(lines.map { $0["level"] } == ["warning", "critical"])
        #expect(lines.first?["message"]?.contains("REACTOR_PROT") == true)
        #expect(lines.last?["message"]?.contains("no-such-host.invalid") == true)
    }

    /// All lines, once they meet the condition.
    private func lines(
        _ server: ServerProcess, until condition: ([[String: String]]) -> Bool
    ) async throws -> [[String: String]] {
        try await server.log.wait { (try? Self.parse($0.errors)).map(condition) ?? false }
        return try Self.parse(server.log.present.errors)
    }

    /// Every complete line, which must be an object.
    private static func parse(_ text: String) throws -> [[String: String]] {
        try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(object as? [String: Any]).mapValues { "\($0)" }
        }
    }
}
