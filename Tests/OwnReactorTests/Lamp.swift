import ReactorHosting
import Reactors

/// The reactor of a package that depends on this one and hosts it.
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
