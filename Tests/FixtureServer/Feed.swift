import Reactors
import Synchronization

/// Listens to a stream from outside, and counts how often that was started (case 56).
final class Feed: Reactor {

    enum Mutation: TaggedCodable, Sendable {
        case started(times: Int)
        case touched
    }

    enum Action: TaggedCodable, Sendable {
        case touch
    }

    struct State: Codable, Sendable {
        var starts = 0
        var touches = 0
    }

    let initialState = State()
    private let starts = Counter()

    var sources: [Source] {
        let times = starts.next()
        let (stream, inlet) = AsyncStream.makeStream(of: Mutation.self)
        inlet.yield(.started(times: times))
        return [.mutations(stream)]
    }

    func mutate(action: Action) -> Effect<Mutation> { .just(.touched) }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .started(let times): state.starts = times
        case .touched: state.touches += 1
        }
    }

    private final class Counter: Sendable {
        private let value = Mutex(0)

        func next() -> Int {
            value.withLock { value in
                value += 1
                return value
            }
        }
    }
}
