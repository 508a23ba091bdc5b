import Feeds
import JSONCoding
import Reactors
import Sessions
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
