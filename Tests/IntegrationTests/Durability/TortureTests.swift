import Testing

@Suite("A server that is killed under load repeatedly", .timeLimit(.minutes(15)))
struct TortureTests {
    @Test func `five rounds lose, duplicate and reorder nothing`() async throws {
        try await withJournal { journal in
            let server = [ServerProcess.Program.server.path, "--port", "0"] + journal.options
            let log = try await ServerProcess.run(
                .bench,
                ["torture", "--rounds", "5", "--round", "400ms", "--posters", "4", "--"]
                    + server + ["--history-records", "1000000000"])
            #expect(log.exit == .code(0), "\(log.output)\(log.errors)")
            #expect(log.output.contains("actions acknowledged"))
        }
    }
}
