import ReactorHosting
import Reactors
import Testing

private struct NewAuction: Codable, Sendable {
    var lot: String
    var limit: Decimal?
    var tags: [String] = []

    struct Decimal: Codable, Sendable { var value: Double }
}

/// Shows the data from which it was made.
private struct Auction: Reactor {
    enum Action: TaggedCodable, Sendable { case bid }

    struct State: Codable, Sendable {
        var id: String
        var lot: String
        var owner: String?
        var bids = 0
    }

    let initialState: State

    init(_ session: SessionIdentity<NewAuction>) {
        initialState = State(id: session.id, lot: session.input.lot, owner: session.owner)
    }

    func reduce(state: inout State, mutation: Action) { state.bids += 1 }

    /// Uses the reactor's own properties, which no journal has.
    func transform(state: State) -> State {
        var shown = state
        shown.id = initialState.id
        shown.lot = initialState.lot
        return shown
    }
}

private struct Room: Reactor {
    typealias Action = Never
    struct State: Codable, Sendable { var id: String }
    let initialState: State
}

@Suite("A session knows what it was created with", .timeLimit(.minutes(60)))
struct InputTests {
    private static let hosted = [
        Hosted("auction", input: NewAuction.self) { Auction($0) },
        Hosted("room") { session in Room(initialState: Room.State(id: session.id)) },
        Hosted("maybe", input: NewAuction?.self) { session in
            Room(initialState: Room.State(id: session.input?.lot ?? "nothing"))
        },
    ]

    private func serving(_ act: (Client) async throws -> Void) async throws {
        try await LocalServer.with(hosting: Self.hosted) { try await act($0.client()) }
    }

    private static let lamp = #"{"reactor":"auction","input":{"lot":"lamp","tags":[],"x":1.50}}"#

    @Test func `the input is given to the reactor, and shown`() async throws {
        try await serving { client in
            #expect(try await client.put("/v1/sessions/a", Self.lamp).status == 201)
            let read = try await client.get("/v1/sessions/a")
            #expect(try read.json["state"]?["id"] == "a")
            #expect(try read.json["state"]?["lot"] == "lamp")
            // The input is as it was sent, with members that the type does not have.
            #expect(read.text.contains(#""input":{"lot":"lamp","tags":[],"x":1.50},"state":"#))
            let posted = try await client.post("/v1/sessions", Self.lamp)
            #expect(posted.status == 201)
            let id = try #require(try posted.json["id"]?.string)
            #expect(try await client.get("/v1/sessions/\(id)").json["state"]?["id"] == .string(id))
        }
    }

    @Test func `a reactor without an input knows its session too`() async throws {
        try await serving { client in
            #expect(try await client.put("/v1/sessions/r", #"{"reactor":"room"}"#).status == 201)
            let read = try await client.get("/v1/sessions/r").json
            #expect(read["state"] == ["id": "r"])
            #expect(read["input"] == nil)
            try expectProblem(
                try await client.put("/v1/sessions/q", #"{"reactor":"room","input":{}}"#), 422,
                "not_an_input", detail: "takes no input")
            #expect(try await client.get("/v1/sessions/q").status == 404)
        }
    }

    @Test func `an input of an optional type may be missing`() async throws {
        try await serving { client in
            for (id, input, shown) in [
                ("m", "", "nothing"), ("n", #","input":null"#, "nothing"),
                ("o", #","input":{"lot":"lamp","tags":[]}"#, "lamp"),
            ] {
                let body = "{\"reactor\":\"maybe\"\(input)}"
                #expect(try await client.put("/v1/sessions/\(id)", body).status == 201)
                #expect(try await client.put("/v1/sessions/\(id)", body).status == 200)
                let read = try await client.get("/v1/sessions/\(id)").json
                #expect(read["state"] == ["id": .string(shown)])
            }
            try expectProblem(
                try await client.put("/v1/sessions/o", #"{"reactor":"maybe"}"#), 409,
                "other_input", detail: "o")
        }
    }

    @Test(arguments: [
        ("", "/input", "a session of the reactor auction needs an input, and the request has none"),
        (#","input":null"#, "/input", "needs an input, and the request has none; GET /v1/reactors"),
        (#","input":{}"#, "/input/lot", "/lot"), (#","input":7"#, "/input", "its root"),
        (#","input":{"lot":7,"tags":[]}"#, "/input/lot", "/lot"),
        (#","input":{"lot":"a","tags":["b",{}]}"#, "/input/tags/1", "/tags/1"),
    ])
    func `an input that does not decode is refused, and creates nothing`(
        input: String, pointer: String, detail: String
    ) async throws {
        try await serving { client in
            let body = "{\"reactor\":\"auction\"\(input)}"
            for answer in [
                try await client.put("/v1/sessions/bad", body),
                try await client.post("/v1/sessions", body),
            ] {
                try expectProblem(answer, 422, "not_an_input", detail: detail)
                #expect(try answer.json["pointer"] == .string(pointer))
            }
            #expect(try await client.get("/v1/sessions").json["sessions"] == [])
        }
    }

    @Test func `the same PUT is 200, and one with another input 409`() async throws {
        try await serving { client in
            func put(_ input: String) async throws -> Response {
                try await client.put(
                    "/v1/sessions/a", "{\"reactor\":\"auction\"\(input)}")
            }
            #expect(try await put(#","input":{"lot":"é","tags":[],"x":1.50}"#).status == 201)
            for same in [
                #"{"lot":"é","tags":[],"x":1.50}"#, #"{"x":15e-1,"tags":[ ],"lot":"\u00e9"}"#,
            ] {
                #expect(try await put(",\"input\":\(same)").status == 200, "\(same)")
            }
            for other in [
                #"{"lot":"e\u0301","tags":[],"x":1.50}"#, #"{"lot":"é","tags":[]}"#,
                #"{"lot":"é","tags":[],"x":1.5000000000000001}"#, "{}",
            ] {
                try expectProblem(
                    try await put(",\"input\":\(other)"), 409, "other_input", detail: "a")
            }
            try expectProblem(try await put(""), 409, "other_input")
        }
    }

    @Test func `a body has at most 64 KiB, including its input`() async throws {
        try await serving { client in
            let (head, tail) = (#"{"reactor":"auction","input":{"tags":[],"lot":""#, "\"}}")
            let room = 65_536 - head.utf8.count - tail.utf8.count
            for (bytes, status) in [(room, 201), (room + 1, 413)] {
                let body = head + String(repeating: "a", count: bytes) + tail
                let answer = try await client.put("/v1/sessions/s\(bytes)", body)
                #expect(answer.status == status)
            }
        }
    }

    @Test func `a fork has the input of its origin and an id of its own`() async throws {
        try await serving { client in
            #expect(try await client.put("/v1/sessions/a", Self.lamp).status == 201)
            _ = try await client.post("/v1/sessions/a/actions", #"{"type":"bid"}"#)
            let fork = #"{"reactor":"auction","from":{"session":"a"}}"#
            let made = try await client.post("/v1/sessions", fork)
            #expect(made.status == 201)
            let id = try #require(try made.json["id"]?.string)
            let read = try await client.get("/v1/sessions/\(id)")
            #expect(try read.json["state"] == ["id": .string(id), "lot": "lamp", "bids": 1])
            #expect(read.text.contains(#""input":{"lot":"lamp","tags":[],"x":1.50},"#))
            let both = #"{"reactor":"auction","from":{"session":"a"},"input":{"lot":"b"}}"#
            let refused = try await client.post("/v1/sessions", both)
            try expectProblem(refused, 422, "not_an_input", detail: "origin")
        }
    }

    @Test func `nothing else creates a session`() async throws {
        try await serving { client in
            try expectProblem(
                try await client.post("/v1/sessions/none/actions", #"{"type":"bid"}"#), 404,
                "unknown_session")
            #expect(try await client.get("/v1/sessions/none").status == 404)
        }
    }

    @Test func `any node of a cluster has the input, even after its owner has ended`() async throws
    {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(hosting: Self.hosted) { cluster in
                let made = try await cluster.client(1).post("/v1/sessions", Self.lamp)
                let id = try #require(try made.json["id"]?.string)
                let (client, path) = (cluster.client(0), "/v1/sessions/\(id)")
                func expectInput(bids: Int) async throws {
                    let read = try await client.get(path)
                    #expect(
                        try read.json["state"]
                            == ["id": .string(id), "lot": "lamp", "bids": .integer(bids)])
                    #expect(read.text.contains(#""input":{"lot":"lamp","tags":[],"x":1.50},"#))
                }
                try await expectInput(bids: 0)
                #expect(try await client.put(path, Self.lamp).status == 200)
                try expectProblem(
                    try await client.put(path, #"{"reactor":"auction"}"#), 409, "other_input")
                cluster.servers[1].stop()
                var bids = 0
                while cluster.journal.owner(of: id) != cluster.journal.nodes[0] {
                    let answer = try await client.post("\(path)/actions", #"{"type":"bid"}"#)
                    #expect(answer.status == 200)
                    bids += 1
                }
                try await expectInput(bids: bids)
            }
        }
    }

    @Test func `the schema of the input is listed`() async throws {
        try await serving { client in
            let all = try await client.get("/v1/reactors").json["reactors"]
            let auction = try #require(all?[0])
            #expect(auction["schemas"]?["input"]?["required"] == ["lot", "tags"])
            #expect(auction["inputExamples"] == [])
            #expect(all?[1]?["schemas"]?["input"] == nil)
            #expect(all?[1]?["inputExamples"] == nil)
        }
    }
}
