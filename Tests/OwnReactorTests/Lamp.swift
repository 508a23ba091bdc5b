import ReactorHosting
import Reactors

/// What a package that depends on this one writes to host a reactor of its own.
struct Lamp: Reactor {
    enum Action: TaggedCodable, Sendable {
        case press
    }

    struct State: Codable, Sendable {
        @Pulse var isOn = false
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        state.isOn.toggle()
    }
}

/// Serves lamps until the task is cancelled.
func serveLamps(started: @Sendable (String) -> Void) async throws {
    var configuration = Configuration()
    configuration.port = 0
    configuration.journal = .memory
    configuration.grace = .seconds(1)
    try await ReactorServer(hosting: [Hosted("lamp") { Lamp() }], configuration: configuration)
        .run(started: started)
}
