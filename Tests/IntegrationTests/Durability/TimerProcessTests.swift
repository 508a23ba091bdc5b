import Foundation
import PostgresRig
import Testing

@Suite("A timer outlives the process that has set it", .timeLimit(.minutes(60)))
struct TimerProcessTests: ProcessCluster {
    private func set(_ name: String, after: Int, ring: Int) -> String {
        #"{"type":"set","name":"\#(name)","after":\#(after),"ring":\#(ring)}"#
    }

    /// The state once no timer is left. Until then, nothing loads the session but its timers.
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

    @Test func `each fires once over many kills`() async throws {
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

    @Test func `another node fires it after the owner's end, by the database's clock`()
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
