import Foundation
import Testing

@Suite("Contract §3 — health, metrics and specification", .timeLimit(.minutes(60)))
struct ServiceTests {
    @Test func `the server is alive, and ready with its journal`() async throws {
        let client = try await sharedServer()
        #expect(try await client.get("/livez").status == 200)
        let ready = try await client.get("/readyz")
        #expect(ready.status == 200)
        #expect(ready["Durability"] == ServerVariant.current.durability)
        #expect(try ready.json["journal"] == .string(ServerVariant.current.durability))
    }

    @Test func `the served specification equals the repository's`() async throws {
        let response = try await sharedServer().get("/openapi.yaml")
        #expect(response["Content-Type"] == "application/yaml")
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../openapi.yaml").standardizedFileURL
        #expect(try Data(contentsOf: root) == Data(response.body))
    }

    @Test func `metrics are Prometheus text, each with its help and type`() async throws {
        let response = try await sharedServer().get("/metrics")
        let type = try #require(response["Content-Type"])
        #expect(type.hasPrefix("text/plain; version=0.0.4"))
        var described: Set<Substring> = []
        var typed: Set<Substring> = []
        for line in response.text.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch words.prefix(2) {
            case ["#", "HELP"]: described.insert(words[2])
            case ["#", "TYPE"]:
                typed.insert(words[2])
                #expect(["counter", "gauge", "histogram"].contains(words[3]))
            default:
                // The names of a histogram's samples have a suffix.
                let sample = words[0].prefix { $0 != "{" }
                let ending = /_(bucket|sum|count)$/
                let names = [sample, Substring(sample.replacing(ending, with: ""))]
                #expect(
                    names.contains { described.contains($0) && typed.contains($0) }, "\(line)")
                #expect(Double(words[1]) != nil, "\(line)")
            }
        }
        #expect(described.contains("reactor_sessions"))
        #expect(described.contains("reactor_subscribers"))
    }

    @Test func `metrics count requests, sessions and events`() async throws {
        try await withServer { server in
            let client = server.client()
            #expect(try await client.metric("sessions") == 0)
            let session = try await client.session("alerts")
            let streams = [
                try await session.follow("pulses"), try await session.follow("states"),
            ]
            try await session.alert("Hello")
            for stream in streams { _ = try await stream.next() }
            #expect(try await client.metric("sessions") == 1)
            #expect(try await client.metric("subscribers") == 2)
            #expect(try await client.metric("streams_opened_total") == 2)
            _ = try await client.delete(session.path)
            for stream in streams { _ = try await stream.rest() }
            #expect(try await client.metric("sessions") == 0)
            #expect(try await client.metric("subscribers") == 0)
        }
    }

    @Test func `commits of a file are counted by duration`() async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("alerts")
            for number in 1...10 { try await session.alert("\(number)") }
            let text = try await session.client.get("/metrics").text
            #expect(text.contains("# TYPE reactor_journal_commit_seconds histogram\n"))
            // One commit each, because each waited for the previous one; the creation is another.
            #expect(try await session.client.metric("journal_commit_seconds_count") == 11)
            #expect(try await session.client.metric("journal_batches_total") == 11)
            #expect(try await session.client.metric("journal_failures_total") == 0)
            #expect(try await session.client.metric("journal_failing") == 0)
        }
        try await withServer(environment: ["REACTOR_JOURNAL": "memory"]) { server in
            let text = try await server.client().get("/metrics").text
            #expect(!text.contains("reactor_journal"))
        }
    }

    @Test func `every response has a date`() async throws {
        let client = try await sharedServer()
        for path in ["/livez", "/nothing", "/v1/reactors"] {
            let date = try #require(try await client.get(path)["Date"])
            // RFC 9110 §5.6.7: Sun, 06 Nov 1994 08:49:37 GMT
            #expect(date.utf8.count == 29)
            #expect(date.hasSuffix(" GMT"))
        }
    }
}

extension Client {
    /// The value of `reactor_<name>` in `/metrics`.
    func metric(_ name: String) async throws -> Int? {
        let text = try await get("/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix("reactor_\(name) ") }
        return line.flatMap { Int($0.split(separator: " ")[1]) }
    }
}
