import Foundation
import Synchronization
import Testing

@Suite("Topics while nodes end and others join", .timeLimit(.minutes(60)))
struct RollingTopicTests: ProcessCluster {
    /// Publishes one value after the other, each at a node that may be about to end.
    private final class Publisher: Sendable {
        struct State {
            var clients: [Client] = []
            var isOver = false
            /// Acknowledged.
            var published: [String] = []
            /// No session has them.
            var refused: Set<String> = []
            /// Other responses.
            var surprises: [String] = []
        }

        let name: String
        let state = Mutex(State())

        init(_ name: String) { self.name = name }

        func run() async throws {
            for number in 0... {
                guard !state.withLock({ $0.isOver }) else { return }
                try await publish("\(name)\(number)", number)
            }
        }

        private func publish(_ value: String, _ turn: Int) async throws {
            let client = state.withLock { $0.clients[turn % $0.clients.count] }
            let answer: Response
            do {
                answer = try await client.post(
                    "/v1/topics/currentUser", "{\"name\":\"\(value)\"}")
            } catch is CurlFailure {
                // The node has ended: the value is published or not.
                return
            }
            let text = answer.text
            state.withLock { state in
                if answer.status == 200 {
                    state.published.append(value)
                } else if answer.status == 503 {
                    state.refused.insert(value)
                } else if answer.status != 504 {
                    // 504: the outcome is unknown. Each session gets the value, or none does.
                    state.surprises.append("\(value): \(answer.status) \(text)")
                }
            }
        }
    }

    private func start(_ nodes: NodeProcesses) async throws -> ServerProcess {
        try await nodes.start(.fixtures, ["--admin", "on", "--drain-delay", "100ms"])
    }

    /// The values that a session has had, in their order.
    private func values(of session: SessionHandle) async throws -> [String] {
        var values: [String] = []
        var after = session.created
        while true {
            let page = try await session.client.get(
                "\(session.path)/log?limit=1000&after=\(after)"
            ).json
            for entry in try #require(page["entries"]?.array) where entry["kind"] == "mutation" {
                if let name = entry["content"]?["user"]?["name"]?.string { values.append(name) }
            }
            guard let next = page["next"]?.string else { return values }
            after = next
        }
    }

    // Each session moves from a node that ends to another one, and reads there what it has missed.
    @Test func `each value of a 200 is in each session once, in one order, in a rolling restart`()
        async throws
    {
        try await withNodes { nodes in
            var servers: [ServerProcess] = []
            for _ in 0..<3 { servers.append(try await start(nodes)) }
            var sessions: [SessionHandle] = []
            for number in 0..<6 {
                let made = try await servers[number % 3].client().post(
                    "/v1/sessions", #"{"reactor":"profile"}"#)
                sessions.append(
                    SessionHandle(
                        client: servers[0].client(), id: try #require(made.json["id"]?.string),
                        created: try #require(made.json["position"]?.string)))
            }
            let publishers = ["a", "b"].map { Publisher($0) }
            func use(_ servers: [ServerProcess]) {
                let clients = servers.map { $0.client() }
                for publisher in publishers { publisher.state.withLock { $0.clients = clients } }
            }
            use(servers)
            try await withThrowingTaskGroup { group in
                for publisher in publishers { group.addTask { try await publisher.run() } }
                for _ in 0..<3 {
                    servers.append(try await start(nodes))
                    use(servers)
                    let last = servers.removeFirst()
                    last.signal(SIGTERM)
                    #expect(try await last.exit() == .code(0))
                    use(servers)
                    try await untilPublished(publishers, last: servers[0])
                }
                for publisher in publishers { publisher.state.withLock { $0.isOver = true } }
                try await group.waitForAll()
            }
            try await expectAll(publishers, in: sessions.map { $0.on(servers[0]) })
            for server in servers { try await server.murder() }
        }
    }

    /// Values that are published after the sessions have moved show that none is stuck.
    private func untilPublished(
        _ publishers: [Publisher], last server: ServerProcess
    ) async throws {
        let client = server.client()
        for publisher in publishers {
            let before = publisher.state.withLock { $0.published.count }
            while publisher.state.withLock({
                $0.published.count - before < 5 && $0.surprises.isEmpty
            }) {
                _ = try await client.get("/livez")
            }
        }
    }

    private func expectAll(
        _ publishers: [Publisher], in sessions: [SessionHandle]
    ) async throws {
        let last = publishers.compactMap { $0.state.withLock { $0.published.last } }
        var logs: [[String]] = []
        for session in sessions {
            var log = try await values(of: session)
            while !last.allSatisfy(log.contains) { log = try await values(of: session) }
            logs.append(log)
        }
        for publisher in publishers {
            let state = publisher.state.withLock { ($0.published, $0.refused, $0.surprises) }
            #expect(state.2 == [])
            #expect(state.0.count >= 15)
            for log in logs {
                #expect(Set(log).count == log.count, "none twice")
                let published = Set(state.0)
                #expect(log.filter(published.contains) == state.0)
                #expect(state.1.isDisjoint(with: log))
            }
        }
        let all = Set(publishers.flatMap { $0.state.withLock { $0.published } })
        for log in logs.dropFirst() {
            #expect(log.filter(all.contains) == logs[0].filter(all.contains), "in one order")
        }
    }
}
