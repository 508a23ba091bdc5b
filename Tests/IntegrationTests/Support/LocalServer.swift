import Cluster
import SampleReactors
import Storage
import Synchronization

@testable import ReactorHosting

/// A server with one loop in the tests' own process, on a journal of the test.
struct LocalServer: Sendable {
    let port: UInt16
    /// The server's own sessions.
    let own: HostedSessions
    private let running: Task<Void, any Error>

    /// Creates the session on a separate connection.
    func create(_ session: String, of reactor: String) async throws -> Int? {
        let body = "{\"reactor\":\"\(reactor)\"}"
        let connection = try connect()
        await connection.send(
            "PUT /v1/sessions/\(session) HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return await connection.answers(1).first?.head.status
    }

    /// A new client with its own connections.
    func client() -> Client { Client(base: "http://127.0.0.1:\(port)") }

    func connect(receiveBufferBytes: Int32? = nil) throws -> RawConnection {
        try RawConnection(port: port, receiveBufferBytes: receiveBufferBytes)
    }

    /// Ends the server, as SIGTERM ends a process.
    func stop() { running.cancel() }

    /// Starts a server, and ends it after `act`.
    static func with(
        _ journal: any Journal = MemoryJournal(),
        hosting hosted: [Hosted] = [Hosted("alerts") { Alerts() }],
        authenticator: (any Authenticator)? = nil,
        _ adjust: (inout Configuration) -> Void = { _ in },
        _ act: (LocalServer) async throws -> Void
    ) async throws {
        try await with(
            hosting: hosted, authenticator: authenticator, opening: { _ in journal }, adjust, act)
    }

    /// The same.
    ///
    /// - Parameter open: Opens the journal of the server as a member of a cluster; nil for a server
    ///   without links.
    static func with(
        hosting hosted: [Hosted], authenticator: (any Authenticator)? = nil,
        opening open: @escaping @Sendable (Member?) -> any Journal,
        _ adjust: (inout Configuration) -> Void, _ act: (LocalServer) async throws -> Void
    ) async throws {
        var configuration = Configuration()
        configuration.port = 0
        configuration.loops = 1
        configuration.logLevel = .critical
        configuration.allowedHosts = ServerProcess.hosts
        // A test may be held up by all others.
        configuration.stallTimeout = .seconds(600)
        configuration.idleTimeout = .seconds(600)
        configuration.sessionIdle = .seconds(3_600)
        configuration.drainDelay = .milliseconds(1)
        adjust(&configuration)
        let (addresses, started) = AsyncStream<String>.makeStream()
        let (programs, begun) = AsyncStream<HostedSessions>.makeStream()
        let running = Task { [configuration] in
            defer {
                started.finish()
                begun.finish()
            }
            var server = ReactorServer(
                hosting: hosted, configuration: configuration, authenticator: authenticator)
            server.program = { begun.yield($0) }
            try await server.run(
                started: { started.yield($0.main) }, closingTime: .seconds(600),
                opening: open)
        }
        guard let address = await addresses.first(where: { _ in true }),
            let port = address.split(separator: ":").last.flatMap({ UInt16($0) }),
            let own = await programs.first(where: { _ in true })
        else { return try await running.value }
        let server = LocalServer(port: port, own: own, running: running)
        do {
            try await act(server)
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        try await running.value
    }
}

/// A journal whose commits end on demand of the test.
final class HeldJournal: Journal {
    typealias Ended = @Sendable (Verdict) -> Void

    let name = "held"
    let archive: (any Archive)? = nil
    let failure: JournalFailure? = nil
    private let commits = AsyncStream<Ended>.makeStream()

    func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        commits.continuation.yield(ended)
        return .pending
    }

    /// The closure that ends the next commit, once there is one.
    func next() async throws -> Ended {
        for await ended in commits.stream { return ended }
        throw CancellationError()
    }
}
