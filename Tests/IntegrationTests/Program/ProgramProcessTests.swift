import Testing

@Suite("A program's keys outlive its process", .timeLimit(.minutes(60)))
struct ProgramProcessTests {
    // Without the key in the journal, the last process would apply each message once more.
    @Test func `an action that is sent again after a kill is applied once`() async throws {
        try await withJournal { journal in
            func consume(to last: Int) async throws -> ServerProcess {
                let server = try await ServerProcess.start(
                    .fixtures, journal.options, environment: ["FIXTURE_MESSAGES": "60"])
                try await server.log.wait { $0.output.contains("consumed \(last)\n") }
                return server
            }
            for last in [1, 7, 20, 21, 45] { try await consume(to: last).murder() }
            let server = try await consume(to: 60)
            let read = try await server.client().get("/v1/sessions/consumer").json
            #expect(read["version"] == 60)
            #expect(read["state"]?["rung"] == .array((1...60).map { .integer($0) }))
        }
    }
}
