import Reactors

/// Keeps the values of a topic in their order.
struct NewsReader: Reactor {
    enum Action: TaggedCodable, Sendable {
        case skip
    }

    enum Mutation: TaggedCodable, Sendable {
        case read(String)
        case skipped
    }

    struct State: Codable, Sendable {
        var news: [String] = []
        var skipped = 0
    }

    let initialState = State()

    var sources: [Source] { [.mutations(topic: Topic<String>("news")) { .read($0) }] }

    func mutate(action: Action) -> Effect<Mutation> { .just(.skipped) }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .read(let news): state.news.append(news)
        case .skipped: state.skipped += 1
        }
    }
}
