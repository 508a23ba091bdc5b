import Foundation
import PostgresRig
import Testing

@Suite("A timer outlives the process that has set it", .timeLimit(.minutes(60)))
struct TimerProcessTests: ProcessCluster {
    private func set(_ name: String, after: Int, ring: Int) -> String {
        #"{"type":"set","name":"\#(name)","after":\#(after),"ring":\#(ring)}"#
    }

    /// The state once no timer is left. Until then, only its timers load the session.
    private func rung(_ session: SessionHandle) async throws -> JSONValue {
        while try await session.client.get("\(session.path)/runtime").json["timers"] != [] {
            try Task.checkCancellation()
        }
        return try #require(try await session.read()["state"])
    }

    @Test func `it wakes its session after a restart, once and not early`() async throws {
        try await withJournal { journal in
            let first = try await ServerProcess.start(.fixtures, journal.options)
            let session = try await first.client().session("rounds")
            try await session.post(
                "[\(set("late", after: 1_500, ring: 2)),\(set("soon", after: 1, ring: 1))]")
            try await session.post(
                "[\(set("x", after: 100, ring: 3)),{\"type\":\"cancel\",\"name\":\"x\"}]")
            try await first.murder()
            let second = try await ServerProcess.start(.fixtures, journal.options)
            let state = try await rung(session.on(second))
            #expect(state["rung"] == [1, 2])
            #expect(state["early"] == 0)
            try await second.murder()
            let third = try await ServerProcess.start(.fixtures, journal.options)
            #expect(try await rung(session.on(third))["rung"] == [1, 2])
        }
    }

    /// A refused request leaves the timers as they were, a fork has none, and an export has all.
    private func refuseForkAndExport(
        _ server: ServerProcess, export: () async throws -> ProcessLog.Present
    ) async throws {
        let session = try await server.client().session("rounds")
        try await session.post(set("a", after: 3_600_000, ring: 1))
        let refused = try await server.client().post(
            "\(session.path)/actions",
            "[\(set("b", after: 0, ring: 2)),{\"type\":\"decline\",\"cancel\":\"a\"}]")
        try expectProblem(refused, 422, "action_refused")
        func timers(_ path: String) async throws -> [String]? {
            try await server.client().get("\(path)/runtime").json["timers"]?.array?
                .compactMap { $0["name"]?.string }
        }
        #expect(try await timers(session.path) == ["a"])
        let from = #"{"reactor":"rounds","from":{"session":"\#(session.id)"}}"#
        let fork = try await server.client().post("/v1/sessions", from)
        #expect(fork.status == 201, "\(fork.text)")
        #expect(try await timers("/v1/sessions/\(try #require(fork.json["id"]?.string))") == [])
        #expect(try await timers(session.path) == ["a"])
        let exported = try await export()
        #expect(exported.output.split(separator: "\n").count { $0.hasPrefix(#"{"timer""#) } == 1)
        #expect(exported.output.contains(#"{"timer":"a","number":1,"due":"#))
    }

    @Test func `refusals, forks and exports of a file`() async throws {
        try await withJournal { journal in
            let server = try await ServerProcess.start(.fixtures, journal.options)
            try await refuseForkAndExport(server) {
                try await ServerProcess.run(.server, ["journal", "export", journal.path])
            }
        }
    }

    @Test func `refusals and forks in PostgreSQL`() async throws {
        try await withNodes { nodes in
            let server = try await nodes.start(.fixtures)
            try await refuseForkAndExport(server) {
                try await ServerProcess.run(
                    .server, ["journal", "export", nodes.database.address("reactor")])
            }
        }
    }

    @Test func `a timer that was exported and imported fires`() async throws {
        try await withJournal { journal in
            let first = try await ServerProcess.start(.fixtures, journal.options)
            let session = try await first.client().session("rounds")
            try await session.post(set("a", after: 300, ring: 1))
            try await first.murder()
            let export = try await ServerProcess.run(.server, ["journal", "export", journal.path])
            let (text, copy) = (journal.path + ".text", journal.path + ".copy")
            try export.output.write(toFile: text, atomically: true, encoding: .utf8)
            let made = try await ServerProcess.run(
                .server, ["journal", "import", copy], prelude: "exec < \(text)")
            #expect(made.exit == .code(0), "\(made.errors)")
            let second = try await ServerProcess.start(
                .fixtures, ["--journal", "file:\(copy)"])
            #expect(try await rung(session.on(second))["rung"] == [1])
        }
    }

    @Test func `each timer fires once over many kills`() async throws {
        try await withJournal { journal in
            var server = try await ServerProcess.start(.fixtures, journal.options)
            var sessions: [SessionHandle] = []
            for _ in 0..<4 { sessions.append(try await server.client().session("rounds")) }
            var ring = 0
            for _ in 0..<8 {
                for session in sessions {
                    ring += 1
                    let after = Int.random(in: 0..<300)
                    try await session.on(server).post(set("t\(ring)", after: after, ring: ring))
                }
                try await server.murder()
                server = try await ServerProcess.start(.fixtures, journal.options)
            }
            var all: [JSONValue] = []
            for session in sessions {
                let state = try await rung(session.on(server))
                #expect(state["early"] == 0)
                if case .array(let rung)? = state["rung"] { all += rung }
            }
            #expect(Set(all.compactMap(\.integer)) == Set(1...ring))
            #expect(all.count == ring)
        }
    }

    @Test func `another node fires it after the owner has ended, by the database's clock`()
        async throws
    {
        try await withNodes { nodes in
            let first = try await nodes.start(.fixtures, leaseEnds: true)
            let session = try await first.client().session("rounds")
            try await session.post(set("a", after: 200, ring: 1))
            try await session.post(set("b", after: 6_000, ring: 2))
            let second = try await nodes.start(.fixtures, leaseEnds: true)
            try await first.murder()
            let state = try await rung(session.on(second))
            #expect(state["rung"] == [1, 2])
            #expect(state["early"] == 0)
        }
    }
}
