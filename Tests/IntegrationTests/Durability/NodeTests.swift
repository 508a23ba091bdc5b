import Cluster
import PostgresRig
import ReactorPostgres
import Reactors
import SampleReactors
import Storage
import Testing

@testable import ReactorHosting

/// Two servers of one journal in this process. Each beats when its test says so.
@Suite("Two nodes on one database", .timeLimit(.minutes(60)))
struct NodeTests {
    private struct Rig {
        let database: PostgresServer
        let schema: String
        let hosted: [Hosted]
        let signals: AsyncStream<String>

        init() throws {
            database = try PostgresServer.shared.get()
            schema = "\(database.newSchema())_nodes"
            let (signals, signal) = AsyncStream<String>.makeStream()
            self.signals = signals
            hosted = [
                Hosted("alerts") { Alerts() }, Hosted("vigil") { Vigil(signal: signal) },
            ]
        }

        func journal(_ number: Int64) throws -> PostgresJournal {
            let member = Member(
                node: Node(number: number), address: "10.0.0.\(number):7080", loops: 1,
                reactors: ["alerts": 1, "vigil": 1])
            return try PostgresJournal(
                PostgresAddress(database.address(schema)), member: member,
                lease: .seconds(3_600), commitLimit: .seconds(600), looksEvery: nil)
        }

        func with(
            _ journal: PostgresJournal, authenticator: (any Authenticator)? = nil,
            sessionsOfOne limit: Int = 0,
            _ act: (LocalServer) async throws -> Void
        ) async throws {
            try await LocalServer.with(
                journal, hosting: hosted, authenticator: authenticator,
                { configuration in
                    // Some effects end only with their process.
                    configuration.grace = .seconds(1)
                    configuration.subjectSessionLimit = limit
                }, act)
        }

        /// A node that is paused, or cut off: its last beat was long ago.
        func silence(_ number: Int64) throws {
            try database.psql(
                """
                UPDATE \(schema).nodes SET seen = seen - interval '2 h' WHERE node = \(number)
                """)
        }
    }

    /// Its effect runs until it is cancelled.
    private struct Vigil: Reactor {
        enum Action: TaggedCodable, Sendable { case begin }
        enum Mutation: TaggedCodable, Sendable { case end }
        struct State: Codable, Sendable {}

        let signal: AsyncStream<String>.Continuation
        let initialState = State()

        func mutate(action: Action) -> Effect<Mutation> {
            .run { [signal] _ in
                signal.yield("begun")
                do {
                    try await Task.sleep(for: .seconds(86_400))
                } catch {
                    signal.yield("cancelled")
                }
            }
        }

        func reduce(state: inout State, mutation: Mutation) {}
    }

    private static let alert = #"{"type":"alert","message":"x"}"#

    private func expectMoved(_ response: Response) throws {
        #expect(response.status == 503)
        #expect(try response.json["code"]?.string == "moved")
        #expect(response["Retry-After"] == "1")
    }

    @Test func `the owner of a session decides on it, and each node shows its newest state`()
        async throws
    {
        let rig = try Rig()
        try await rig.with(rig.journal(1)) { a in
            try await rig.with(rig.journal(2)) { b in
                let session = try await a.client().session("alerts")
                let other = b.client()
                for number in 1...3 {
                    try await session.alert("m\(number)")
                    let read = try await other.get(session.path)
                    #expect(read.status == 200)
                    #expect(read["Age"] == nil)
                    #expect(try read.json["version"]?.integer == number)
                    #expect(try read.json["state"]?["alertMessage"]?.string == "m\(number)")
                }
                let log = try await other.get("\(session.path)/log?after=\(session.created)")
                #expect(try log.json["entries"]?.array?.count == 6)
                try expectMoved(try await other.post("\(session.path)/actions", Self.alert))
                try expectMoved(try await other.put(session.path, #"{"reactor":"alerts"}"#))
                try expectMoved(try await other.delete(session.path))
                // Nothing of them was applied.
                #expect(try await session.alert("m4").version == 4)
            }
        }
    }

    @Test func `sessions of a node that has ended are served by the other at once`() async throws {
        let rig = try Rig()
        try await rig.with(rig.journal(2)) { b in
            var sessions: [SessionHandle] = []
            try await rig.with(rig.journal(1)) { a in
                for _ in 1...3 {
                    sessions.append(try await a.client().session("alerts"))
                    try await sessions[sessions.count - 1].alert("a")
                }
                try expectMoved(
                    try await b.client().post("\(sessions[0].path)/actions", Self.alert))
            }
            for session in sessions {
                #expect(try await session.on(b).alert("b").version == 2)
            }
            #expect(try await sessions[0].on(b).client.delete(sessions[0].path).status == 204)
        }
    }

    @Test func `a silent owner is deposed after its lease, and notices it when it decides`()
        async throws
    {
        let rig = try Rig()
        try await rig.with(rig.journal(1)) { a in
            try await rig.with(rig.journal(2)) { b in
                let session = try await a.client().session("alerts")
                let stream = try await session.follow("pulses")
                try await session.alert("a")
                #expect(try await stream.next().data == #""a""#)
                try rig.silence(1)
                #expect(try await session.on(b).alert("b").version == 2)
                try expectMoved(
                    try await session.client.post("\(session.path)/actions", Self.alert))
                // Its readers stay, and get the events of the next owner.
                #expect(try await stream.next().data == #""b""#)
                let read = try await session.read()
                #expect(read["version"]?.integer == 2)
                #expect(read["state"]?["alertMessage"]?.string == "b")
                let resumed = try await session.on(b).open(
                    "pulses?after=\(session.created)", [("Accept", "text/event-stream")])
                #expect(try await resumed.next(2).map(\.data) == [#""a""#, #""b""#])
            }
            // The other has ended: the session may come back.
        }
    }

    @Test func `a deposed owner shows the newest state before it has noticed anything`()
        async throws
    {
        let rig = try Rig()
        try await rig.with(rig.journal(1)) { a in
            var session: SessionHandle?
            try await rig.with(rig.journal(2)) { b in
                let made = try await a.client().session("alerts")
                try rig.silence(1)
                try await made.on(b).alert("b")
                #expect(try await made.read()["version"]?.integer == 1)
                session = made
            }
            // The other has ended, and the session may come back.
            #expect(try await #require(session).alert("c").version == 2)
        }
    }

    @Test func `effects of a deposed owner are cancelled with its next beat`() async throws {
        let rig = try Rig()
        let first = try rig.journal(1)
        try await rig.with(first) { a in
            try await rig.with(rig.journal(2)) { b in
                let session = try await a.client().session("vigil")
                try await session.post(#"{"type":"begin"}"#)
                var signals = rig.signals.makeAsyncIterator()
                #expect(await signals.next() == "begun")
                try rig.silence(1)
                // Another action of it runs there, on the same terms.
                try await session.on(b).post(#"{"type":"begin"}"#)
                #expect(await signals.next() == "begun")
                try await first.beat()
                #expect(await signals.next() == "cancelled")
            }
        }
    }

    @Test func `effects that run elsewhere are no trace of a process that ended`() async throws {
        let rig = try Rig()
        try await rig.with(rig.journal(1)) { a in
            let session = try await a.client().session("vigil")
            try await session.post(#"{"type":"begin"}"#)
            let second = try rig.journal(2)
            #expect(second.interrupted.isEmpty)
            await second.close()
            try rig.silence(1)
            let third = try rig.journal(3)
            #expect(third.interrupted.map(\.session) == [session.id])
            await third.close()
        }
    }

    // MARK: Clients

    /// The token is the name of the client, who may use its own sessions.
    private struct Names: Authenticator {
        func authenticate(
            bearer token: String
        ) async throws(AuthenticationFailure) -> Principal {
            let grants = Grants(
                verbs: Set(Grants.Verb.allCases), sessions: [], ownSessions: true)
            return Principal(subject: token, grants: grants, expiresAtSeconds: .max)
        }
    }

    /// If each node counted alone, two nodes would permit six sessions, and would never notice that
    /// another node has deleted some.
    @Test func `the sessions of a client are counted at all nodes together`() async throws {
        let rig = try Rig()
        try await rig.with(rig.journal(1), authenticator: Names(), sessionsOfOne: 3) { a in
            try await rig.with(rig.journal(2), authenticator: Names(), sessionsOfOne: 3) { b in
                try await expectThreeSessions(at: a, b)
            }
        }
    }

    private func expectThreeSessions(at a: LocalServer, _ b: LocalServer) async throws {
        for (server, id) in [(a, "one"), (b, "two"), (a, "three")] {
            #expect(try await send(server, "PUT", id) == 201)
        }
        for server in [a, b] {
            #expect(try await send(server, "PUT", "four") == 403)
            #expect(try await send(server, "GET", "one") == 200)
        }
        #expect(try await send(b, "PUT", "eves", as: "eve") == 201)
        #expect(try await send(b, "DELETE", "two") == 204)
        #expect(try await send(a, "PUT", "four") == 201)
        #expect(try await send(a, "PUT", "one") == 200, "it is there")
        #expect(try await send(b, "PUT", "five") == 403)
    }

    private func send(
        _ server: LocalServer, _ method: String, _ id: String, as client: String = "ada"
    ) async throws -> Int {
        let path = "/v1/sessions/\(id)"
        var request =
            method == "PUT"
            ? Request.json(method, path, #"{"reactor":"alerts"}"#)
            : Request(method: method, path: path)
        request.fields.append(("Authorization", "Bearer \(client)"))
        return try await server.client().send(request).status
    }

    @Test func `a session of another client is hidden, also where another node owns it`()
        async throws
    {
        let rig = try Rig()
        try await rig.with(rig.journal(1), authenticator: Names()) { a in
            try await rig.with(rig.journal(2), authenticator: Names()) { b in
                func send(
                    _ server: LocalServer, _ method: String, _ rest: String, _ body: String?,
                    as client: String
                ) async throws -> Response {
                    let path = "/v1/sessions/hers\(rest)"
                    var request =
                        body.map { Request.json(method, path, $0) }
                        ?? Request(method: method, path: path)
                    request.fields.append(("Authorization", "Bearer \(client)"))
                    return try await server.client().send(request)
                }
                let put = #"{"reactor":"alerts"}"#
                #expect(try await send(a, "PUT", "", put, as: "ada").status == 201)
                try expectMoved(try await send(b, "POST", "/actions", Self.alert, as: "ada"))
                for (method, rest, body) in [
                    ("POST", "/actions", Self.alert), ("DELETE", "", nil), ("GET", "", nil),
                    ("GET", "/pulses", nil),
                ] as [(String, String, String?)] {
                    let other = try await send(b, method, rest, body, as: "eve")
                    #expect(other.status == 404, "\(method) \(rest)")
                    #expect(try other.json["code"]?.string == "unknown_session")
                }
                let taken = try await send(b, "PUT", "", put, as: "eve")
                #expect(try taken.json["code"]?.string == "other_owner")
                #expect(try await send(a, "POST", "/actions", Self.alert, as: "ada").status == 200)
            }
        }
    }
}
