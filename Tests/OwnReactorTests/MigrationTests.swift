import Foundation
import ReactorHosting
import Reactors
import Testing

/// README's thermostat.
private struct Thermostat: Reactor {
    enum Action: TaggedCodable { case turn(degrees: Int), coolDown }

    struct State: Codable {
        var degrees = 20
        @Pulse var warning: String?
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .turn(let degrees): state.degrees = degrees
        case .coolDown: (state.degrees, state.warning) = (20, "It is 20 degrees again.")
        }
    }
}

private enum Later {
    /// The same reactor after a deployment. `WritingAReactorTests` compares it with the guide.
    struct Thermostat: Reactor {
        enum Action: TaggedCodable { case turn(degrees: Int), coolDown }

        struct State: Codable {
            var target = 20  // was called degrees in version 1
            @Pulse var warning: String?
        }

        static let stateVersion = 2

        static func migrate(state saved: SavedValue) throws -> State {
            struct Before: Decodable { var degrees: Int }
            var state = State()
            state.target = try saved.decode(Before.self).degrees
            return state
        }

        let initialState = State()

        func reduce(state: inout State, mutation: Action) {
            switch mutation {
            case .turn(let degrees): state.target = degrees
            case .coolDown: (state.target, state.warning) = (20, "It is 20 degrees again.")
            }
        }
    }
}

@Suite("Writing a reactor — sessions outlive deployments", .timeLimit(.minutes(60)))
struct MigrationTests {
    @Test func `a state that was saved by an earlier deployment is migrated by the next one`()
        async throws
    {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "reactor.sqlite").path

        try await serving(Hosted("thermostat") { Thermostat() }, journal: path) { client in
            client.say("PUT", "/v1/sessions/hall", #"{"reactor":"thermostat"}"#)
            try client.hear("}\n")
            client.say("POST", "/v1/sessions/hall/actions", #"{"type":"turn","degrees":25}"#)
            let answer = try client.hear("}\n")
            #expect(answer.contains(#""version":1"#))
        }
        try await serving(Hosted("thermostat") { Later.Thermostat() }, journal: path) { client in
            client.say("GET", "/v1/sessions/hall")
            let answer = try client.hear("}}\n")
            #expect(answer.contains(#""state":{"target":25"#))
            client.say("POST", "/v1/sessions/hall/actions", #"{"type":"turn","degrees":27}"#)
            let posted = try client.hear("}\n")
            #expect(posted.contains(#""version":2"#))
        }
        try await serving(Hosted("thermostat") { Later.Thermostat() }, journal: path) { client in
            client.say("GET", "/v1/sessions/hall")
            let answer = try client.hear("}}\n")
            #expect(answer.contains(#""state":{"target":27"#))
        }
    }
}
