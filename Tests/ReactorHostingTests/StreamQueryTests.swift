import JSONCoding
import Reactors
import Sessions
import Testing
import Wire

@testable import ReactorHosting

@Suite("Contract §3.2 — what a stream's request asks for", .timeLimit(.minutes(5)))
struct StreamQueryTests {
    @Test func `Pulses: all of them, or those that are named`() throws {
        #expect(try query(.streamPulses, "/").selection == Selection(pulses: 0b11))
        #expect(try query(.streamPulses, "/?pulse=b").selection == Selection(pulses: 0b10))
        #expect(
            try query(.streamPulses, "/?pulse=b&pulse=a&pulse=b").selection
                == Selection(pulses: 0b11))
    }

    @Test func `Case 40: a pulse that the reactor has not is 404`() {
        for operation in [Operation.streamPulses, .streamEvents] {
            let problem = #expect(throws: Problem.self) { try query(operation, "/?pulse=c") }
            #expect(problem?.status == 404)
            #expect(problem?.code == "unknown_pulse")
            #expect(problem?.detail.contains("c") == true)
        }
    }

    @Test func `Activities, states and one part`() throws {
        #expect(try query(.streamActivities, "/").selection == Selection(activities: true))
        #expect(try query(.streamStates, "/").selection == Selection(states: .whole))
        #expect(
            try query(.streamStates, "/?select=/a/0").selection
                == Selection(states: .part(JSONPointer("/a/0"))))
        let problem = #expect(throws: Problem.self) { try query(.streamStates, "/?select=a") }
        #expect(problem?.code == "bad_select")
    }

    @Test func `Events: everything, or what only names`() throws {
        let everything = Selection(pulses: 0b11, activities: true, states: .whole)
        #expect(try query(.streamEvents, "/").selection == everything)
        #expect(
            try query(.streamEvents, "/?only=pulses,states").selection
                == Selection(pulses: 0b11, states: .whole))
        #expect(
            try query(.streamEvents, "/?only=activities&only=pulses&pulse=a").selection
                == Selection(pulses: 0b01, activities: true))
        let problem = #expect(throws: Problem.self) { try query(.streamEvents, "/?only=pulse") }
        #expect(problem?.code == "bad_only")
        let select = #expect(throws: Problem.self) {
            try query(.streamEvents, "/?only=pulses&select=x")
        }
        #expect(select?.code == "bad_select", "also where no states are wanted")
    }

    @Test func `Where it begins: the header wins over after, and both over from`() throws {
        #expect(try start("/") == "snapshot")
        #expect(try start("/?from=now") == "now")
        #expect(try start("/?from=start") == "start")
        #expect(try start("/?after=x.1&from=now") == "after x.1")
        #expect(try start("/?after=x.1", "Last-Event-ID: y.2") == "after y.2")
        #expect(try start("/?after=x.1", "Last-Event-ID:") == "after x.1")
        #expect(try start("/?after=") == "after ")
        let problem = #expect(throws: Problem.self) { try query(.streamPulses, "/?from=then") }
        #expect(problem?.code == "bad_from")
    }

    @Test func `Heartbeats are comments unless events are asked for`() throws {
        #expect(try !query(.streamPulses, "/").heartbeatIsEvent)
        #expect(try !query(.streamPulses, "/?ping=comments").heartbeatIsEvent)
        #expect(try query(.streamPulses, "/?ping=events").heartbeatIsEvent)
        let problem = #expect(throws: Problem.self) { try query(.streamPulses, "/?ping=1") }
        #expect(problem?.code == "bad_ping")
    }

    private func start(_ target: String, _ fields: String...) throws -> String {
        let request = try HeadOf("GET", target, fields.first ?? "Accept: */*")
        let read = try StreamQuery(.streamPulses, request.query, request.head, registration())
        switch read.start {
        case .snapshot: return "snapshot"
        case .now: return "now"
        case .start: return "start"
        case .after(let text): return "after \(text)"
        }
    }

    private func query(
        _ operation: Operation, _ target: String
    ) throws -> StreamQuery {
        let request = try HeadOf("GET", target)
        return try StreamQuery(operation, request.query, request.head, registration())
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
