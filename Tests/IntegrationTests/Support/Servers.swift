import Testing

/// The servers with nearly default settings that most tests share, of each program one of each
/// variant; each test has its own sessions.
///
/// They live as long as the test process; then ``Watchdog`` kills them.
actor Servers {
    static let shared = Servers()

    private struct Kind: Hashable {
        let program: ServerProcess.Program
        let variant = ServerVariant.current
    }

    private var starting: [Kind: Task<ServerProcess, any Error>] = [:]

    func process(_ program: ServerProcess.Program) async throws -> ServerProcess {
        let kind = Kind(program: program)
        let task =
            starting[kind]
            ?? Task {
                // A test that sends a request in pieces may be held up by all others.
                try await ServerProcess.start(
                    program, ["--log-level", "debug", "--stall-timeout", "10m"])
            }
        starting[kind] = task
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

/// Gives a test its own server, with its own options.
func withServer(
    _ program: ServerProcess.Program = .server, _ options: String...,
    environment: [String: String] = [:],
    do body: (ServerProcess) async throws -> Void
) async throws {
    try await Turnstile.servers.pass {
        let server = try await ServerProcess.start(program, options, environment: environment)
        try await body(server)
        #expect(server.log.present.exit != .signal(11), "\(server.log.present.errors)")
    }
}

/// Admits `count` tests at a time: they run concurrently, and a machine with two processors should
/// not start fifty servers for them.
actor Turnstile {
    static let servers = Turnstile(4)

    private var free: Int
    private var queue: [CheckedContinuation<Void, Never>] = []

    init(_ free: Int) {
        self.free = free
    }

    nonisolated func pass(_ body: () async throws -> Void) async throws {
        await enter()
        do {
            try await body()
        } catch {
            await leave()
            throw error
        }
        await leave()
    }

    private func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { queue.append($0) }
    }

    private func leave() {
        if queue.isEmpty { free += 1 } else { queue.removeFirst().resume() }
    }
}
