import Glibc
import Testing

@Suite("A loop that does not return is found while it is stuck", .timeLimit(.minutes(60)))
struct StuckLoopTests {
    @Test func `the log, the probes and the metrics name it, and the turn is counted at its end`()
        async throws
    {
        try await withServer(.fixtures, "--slow-turn", "1ms", "--stuck-limit", "500ms") { server in
            let session = try await server.client().session("blocking")
            // On different loops: connections are spread in turn. One of them stays free.
            let probes = try (0..<2).map { _ in try RawConnection(port: server.port) }
            for probe in probes { #expect(await probe.get("/livez")?.head.status == 200) }
            let pipe = try NamedPipe()
            async let posted = session.post(#"{"type":"block","pipe":"\#(pipe.path)"}"#)
            let writer = await pipe.open()
            let probe = try #require(await firstToAnswer(probes))

            var alive = await probe.get("/livez")
            while alive?.body.contains(#""occupied":[]"#) == true {
                alive = await probe.get("/livez")
            }
            #expect(alive?.head.status == 200)
            #expect(alive?.body.contains(#""occupied":[{"loop":"#) == true)

            var ready = await probe.get("/readyz")
            while ready?.head.status == 200 { ready = await probe.get("/readyz") }
            #expect(ready?.head.status == 503)
            #expect(ready?.body.contains(#""code":"loop_stuck""#) == true)

            // Its sessions are unknown; those of the other one alone would look like all.
            let list = await probe.get("/v1/sessions")
            #expect(list?.head.status == 503)
            #expect(list?.body.contains(#""code":"loop_stuck""#) == true)

            try await server.log.wait { $0.errors.contains("a loop is stuck") }
            let line = try line(with: "a loop is stuck", of: server)
            for field in ["session=\(session.id)", "reactor=blocking", "work=action", "action=1"] {
                #expect(line.contains(field), "\(line)")
            }
            // Not asked of the loop that is stuck.
            let page = try #require(await probe.get("/metrics")?.body)
            let busy = page.matches(of: /reactor_loop_busy_seconds\{loop="\d+"\} ([0-9.e-]+)\n/)
            #expect(busy.contains { (Double($0.1) ?? 0) > 0.5 }, "\(busy.map(\.0))")

            close(writer)
            _ = try await posted
            ready = await probe.get("/readyz")
            while ready?.head.status == 503 { ready = await probe.get("/readyz") }
            // Another turn may have been slow: the machine has other work.
            try await server.log.wait { $0.errors.contains("case=block") }
            let end = try self.line(with: "case=block", of: server)
            #expect(end.contains("slow turn"), "\(end)")
            for field in ["session=\(session.id)", "case=block", "action=1", "duration_ms="] {
                #expect(end.contains(field), "\(end)")
            }
            let name = "slow_turns_total{reactor=\"blocking\"}"
            while try await session.client.metric(name) ?? 0 < 1 {}
        }
    }

    private func line(with text: String, of server: ServerProcess) throws -> String {
        let lines = server.log.present.errors.split(separator: "\n")
        return String(try #require(lines.first { $0.contains(text) }))
    }

    /// The connection whose loop is free; the other one responds when its loop is.
    private func firstToAnswer(_ probes: [RawConnection]) async -> RawConnection? {
        let (answers, answered) = AsyncStream<RawConnection>.makeStream()
        for probe in probes {
            Task { if await probe.get("/livez") != nil { answered.yield(probe) } }
        }
        for await probe in answers { return probe }
        return nil
    }
}
