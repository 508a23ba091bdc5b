import Feeds
import JSONCoding
import Reactors
import Sessions
import Storage
import Testing
import Wire

@testable import ReactorHosting

@Suite("Contract §3.2 — the query of a stream", .timeLimit(.minutes(60)))
struct StreamQueryTests {
    @Test func `pulses: all of them, or the named ones`() throws {
        #expect(try query(StreamPulses.self, "/").selection == Selection(pulses: 0b11))
        #expect(try query(StreamPulses.self, "/?pulse=b").selection == Selection(pulses: 0b10))
        #expect(
            try query(StreamPulses.self, "/?pulse=b&pulse=a&pulse=b").selection
                == Selection(pulses: 0b11))
    }

    @Test func `case 40: a pulse that the reactor does not have is 404`() {
        for endpoint in [StreamPulses.self, StreamEvents.self] as [any StreamEndpoint.Type] {
            let problem = #expect(throws: Problem.self) { try query(endpoint, "/?pulse=c") }
            #expect(problem?.status == 404)
            #expect(problem?.code == "unknown_pulse")
            #expect(problem?.detail.contains("c") == true)
        }
    }

    @Test func `activities, states and one part`() throws {
        #expect(try query(StreamActivities.self, "/").selection == Selection(activities: true))
        #expect(try query(StreamStates.self, "/").selection == Selection(states: .whole))
        #expect(
            try query(StreamStates.self, "/?select=/a/0").selection
                == Selection(states: .part(JSONPointer("/a/0"))))
        let problem = #expect(throws: Problem.self) { try query(StreamStates.self, "/?select=a") }
        #expect(problem?.code == "bad_select")
        let long = String(repeating: "/", count: 129)
        let refused = #expect(throws: Problem.self) {
            try query(StreamStates.self, "/?select=" + long)
        }
        #expect(refused?.code == "bad_select")
        #expect(refused?.detail.contains("more than 128 tokens") == true)
    }

    @Test func `events: all kinds, or those that only names`() throws {
        let everything = Selection(pulses: 0b11, activities: true, states: .whole)
        #expect(try query(StreamEvents.self, "/").selection == everything)
        #expect(
            try query(StreamEvents.self, "/?only=pulses,states").selection
                == Selection(pulses: 0b11, states: .whole))
        #expect(
            try query(StreamEvents.self, "/?only=activities&only=pulses&pulse=a").selection
                == Selection(pulses: 0b01, activities: true))
        let problem = #expect(throws: Problem.self) { try query(StreamEvents.self, "/?only=pulse") }
        #expect(problem?.code == "bad_only")
        let select = #expect(throws: Problem.self) {
            try query(StreamEvents.self, "/?only=pulses&select=x")
        }
        #expect(select?.code == "bad_select", "also where no states are wanted")
    }

    @Test func `start: the header overrides after, and both override from`() throws {
        #expect(try start("/") == "snapshot")
        #expect(try start("/?from=now") == "now")
        #expect(try start("/?from=start") == "start")
        #expect(try start("/?after=x.1&from=now") == "after x.1")
        #expect(try start("/?after=x.1", "Last-Event-ID: y.2") == "after y.2")
        #expect(try start("/?after=x.1", "Last-Event-ID:") == "after x.1")
        #expect(try start("/?after=") == "after ")
        let problem = #expect(throws: Problem.self) { try query(StreamPulses.self, "/?from=then") }
        #expect(problem?.code == "bad_from")
    }

    @Test func `heartbeats are comments unless events are requested`() throws {
        #expect(try !query(StreamPulses.self, "/").heartbeatIsEvent)
        #expect(try !query(StreamPulses.self, "/?ping=comments").heartbeatIsEvent)
        #expect(try query(StreamPulses.self, "/?ping=events").heartbeatIsEvent)
        let problem = #expect(throws: Problem.self) { try query(StreamPulses.self, "/?ping=1") }
        #expect(problem?.code == "bad_ping")
    }

    @Test func `as gives a name, and presence=on asks for events`() throws {
        #expect(try query(StreamPulses.self, "/").presence == nil)
        #expect(try query(StreamPulses.self, "/?presence=off").presence == nil)
        let watching = try #require(try query(StreamEvents.self, "/?presence=on").presence)
        #expect(watching.name == nil && watching.getsEvents)
        let named = try #require(try query(StreamStates.self, "/?as=ada%20b").presence)
        #expect(named.name == "ada b" && !named.getsEvents)
        let long = String(repeating: "%C3%A9", count: 32)
        #expect(try query(StreamPulses.self, "/?as=\(long)").presence?.name != nil)
        for name in ["", long + "a", "a%00b", "a%C2%85"] {
            let problem = #expect(throws: Problem.self) {
                try query(StreamPulses.self, "/?as=\(name)&presence=on")
            }
            #expect(problem?.code == "bad_as", "\(name)")
        }
        let problem = #expect(throws: Problem.self) {
            try query(StreamPulses.self, "/?presence=yes")
        }
        #expect(problem?.code == "bad_presence")
    }

    @Test func `with a token the name is its subject, byte for byte`() throws {
        let mine = Grants.all
        #expect(try presence("as=\u{e9}", mine, of: "\u{e9}")?.name == "\u{e9}")
        #expect(try presence("presence=on", mine, of: "ada")?.name == nil, "a token is no name")
        for name in ["eve", "e\u{301}"] {
            let problem = #expect(throws: Problem.self) {
                try presence("as=\(name)", mine, of: "\u{e9}")
            }
            #expect(problem?.code == "other_name" && problem?.status == 403)
        }
        let some = Grants(verbs: [.read], sessions: [.prefix("")], pulses: ["a"])
        #expect(try presence("as=ada", some, of: "ada")?.name == "ada")
        let problem = #expect(throws: Problem.self) {
            try presence("presence=on", some, of: "ada")
        }
        #expect(problem?.code == "forbidden", "names are no pulse")
    }

    @Test func `a reactor with an event presence keeps it`() throws {
        let reactor = try Registration(
            name: "own", activities: ["presence"], examples: [], clock: ContinuousClock()
        ) { TwoPulses() }
        let request = try HeadOf("GET", "/?as=ada&presence=on").request
        let problem = #expect(throws: Problem.self) {
            try StreamQuery(StreamEvents.self, request, reactor)
        }
        #expect(problem?.code == "presence_unavailable" && problem?.status == 400)
        let named = try HeadOf("GET", "/?as=ada").request
        #expect(try StreamQuery(StreamEvents.self, named, reactor).presence?.name == "ada")
    }

    private func presence(
        _ query: String, _ grants: Grants, of subject: String
    ) throws -> ReaderPresence? {
        let bytes = Array(query.utf8)
        return try ReaderPresence(
            QueryItems(bytes, bytes.indices),
            for: Access(
                "t", Principal(subject: subject, grants: grants, expiresAtSeconds: 1), at: 0))
    }

    private func start(_ target: String, _ fields: String...) throws -> String {
        let request = try HeadOf("GET", target, fields.first ?? "Accept: */*")
        let read = try StreamQuery(StreamPulses.self, request.request, registration())
        switch read.start {
        case .snapshot: return "snapshot"
        case .now: return "now"
        case .start: return "start"
        case .after(let text): return "after \(text)"
        }
    }

    private func query(
        _ endpoint: any StreamEndpoint.Type, _ target: String
    ) throws -> StreamQuery {
        let request = try HeadOf("GET", target)
        return try StreamQuery(endpoint, request.request, registration())
    }

    private func registration() throws -> Registration {
        try Registration(
            name: "two", activities: [], examples: [], clock: ContinuousClock()
        ) { TwoPulses() }
    }
}

private struct TwoPulses: Reactor {
    enum Action: TaggedCodable, Sendable {
        case set(a: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var a = 0
        @Pulse var b = 0
    }

    let initialState = State()
}
