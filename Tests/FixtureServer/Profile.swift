import Reactors

/// Listens to the signed-in user, as many sessions do (cases 95, 96).
struct Profile: Reactor {
    struct User: Codable, Sendable {
        var name: String
    }

    enum Action: TaggedCodable, Sendable {
        case touch
    }

    enum Mutation: TaggedCodable, Sendable {
        case setUser(User?)
        case touched

        enum SetUserCodingKeys: String, CodingKey { case _0 = "user" }
    }

    struct State: Codable, Sendable {
        @Pulse var user: User?
        var touches = 0
    }

    let initialState = State()
    var topic = Topic<User?>("currentUser")

    var sources: [Source] { [.mutations(topic: topic) { .setUser($0) }] }

    func mutate(action: Action) -> Effect<Mutation> { .just(.touched) }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .setUser(let user): state.user = user
        case .touched: state.touches += 1
        }
    }
}
