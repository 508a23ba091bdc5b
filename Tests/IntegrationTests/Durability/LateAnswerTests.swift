import Synchronization
import Testing

@Suite(
    "Contract §5 — no order of requests ends the process or gets a wrong answer",
    .timeLimit(.minutes(60)))
struct LateAnswerTests {
    /// The journal, and how much history a session keeps.
    static let settings: [[String]] = [
        ["--journal", "memory"], ["--journal", "memory", "--keep-records", "20"],
        [], ["--keep-records", "20"],
    ]

    /// Shared by the posting tasks.
    private final class Progress: Sendable {
        let state = Mutex((newest: 0, posting: 4))
        var newest: Int { state.withLock { $0.newest } }
    }

    @Test(arguments: settings)
    func `case 142: the log is paged at the edge of the kept entries, during posts`(
        options: [String]
    ) async throws {
        try await withJournal { journal in
            let isFile = !options.contains("memory")
            let server = try await ServerProcess.start(
                .server, (isFile ? journal.options : []) + options)
            let kept = options.contains("20") ? 20 : 1_000
            let session = try await server.client().session("alerts")
            let progress = Progress()
            try await withThrowingTaskGroup { group in
                for _ in 1...4 {
                    group.addTask {
                        let mine = session.on(server)
                        for _ in 1...15 {
                            let size = Int.random(in: 1...kept)
                            let actions = (1...size).map { #"{"type":"alert","message":"\#($0)"}"# }
                            let number = try await mine.post("[\(actions.joined(separator: ","))]")
                                .number
                            progress.state.withLock { $0.newest = max($0.newest, number) }
                        }
                        progress.state.withLock { $0.posting -= 1 }
                    }
                    group.addTask {
                        let mine = session.on(server)
                        while progress.state.withLock({ $0.posting }) > 0 {
                            let edge =
                                progress.newest - kept
                                + Int.random(in: -10...10)
                            let after = "\(mine.generation).\(max(0, edge))"
                            let page = try await mine.client.get(
                                "\(mine.path)/log?after=\(after)&limit=1")
                            #expect(page.status == 200)
                            let body = try page.json
                            #expect(body["entries"]?.array != nil)
                            if isFile { #expect(body["reset"] == nil) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await session.read()["version"]?.integer == progress.newest)
            #expect(server.log.present.exit == nil)
        }
    }

    @Test func `case 143: a key look-up meets the deletion of its session`() async throws {
        func keyed(_ key: String, _ session: SessionHandle) async throws -> Response {
            var request = Request.json(
                "POST", "\(session.path)/actions", #"{"type":"alert","message":"x"}"#)
            request.fields.append(("Idempotency-Key", key))
            return try await session.client.send(request)
        }
        try await withJournal { journal in
            let first = try await journal.start()
            var sessions: [SessionHandle] = []
            for _ in 1...20 {
                sessions.append(try await first.client().session("alerts"))
                #expect(try await keyed("old", sessions[sessions.count - 1]).status == 200)
            }
            try await first.murder()

            let server = try await journal.start()
            for (number, session) in sessions.enumerated() {
                let (poster, deleter) = (session.on(server), session.on(server))
                // Half of them are in memory already, half are loaded on demand.
                if number.isMultiple(of: 2) { _ = try await poster.read() }
                async let posted = keyed("new", poster)
                async let deleted = deleter.client.delete(deleter.path)
                let answer = try await posted
                #expect([200, 410].contains(answer.status), "\(answer.text)")
                #expect(try await deleted.status == 204)
                try expectProblem(
                    try await keyed("third", poster), 410, "session_ended")
            }
            #expect(server.log.present.exit == nil)
        }
    }

    @Test func `readers that catch up while their session is deleted get its end`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--keep-records", "5")
            let session = try await server.client().session("alerts")
            let text = String(repeating: "x", count: 200)
            let actions = Array(repeating: #"{"type":"alert","message":"\#(text)"}"#, count: 1_000)
            for _ in 1...8 { try await session.post("[\(actions.joined(separator: ","))]") }
            var readers: [EventStream] = []
            for _ in 1...4 {
                readers.append(try await session.on(server).open("pulses?after=\(session.created)"))
            }
            #expect(try await session.client.delete(session.path).status == 204)
            for reader in readers { #expect(try await reader.rest().last?.name == "end") }
        }
    }
}
