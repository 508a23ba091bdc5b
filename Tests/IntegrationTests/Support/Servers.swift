/// The two servers with default settings that most tests share; each test has sessions of its own.
///
/// They live as long as the test process, which kills them when it exits.
actor Servers {
    static let shared = Servers()

    private var starting: [ServerProcess.Program: Task<ServerProcess, any Error>] = [:]

    func process(_ program: ServerProcess.Program) async throws -> ServerProcess {
        let task =
            starting[program]
            ?? Task { try await ServerProcess.start(program, ["--log-level", "debug"]) }
        starting[program] = task
        return try await task.value
    }
}

/// A client of the shared `reactor-server`.
func sharedServer() async throws -> Client {
    try await Servers.shared.process(.server).client()
}

/// A client of the shared `fixture-server`.
func sharedFixtures() async throws -> Client {
    try await Servers.shared.process(.fixtures).client()
}
