import Reactors
import Synchronization

/// Listens to an external stream, and counts how often that was started (cases 56, 97).
final class Feed: Reactor {

    enum Mutation: TaggedCodable, Sendable {
        case started(times: Int)
        case touched
    }

    enum Action: TaggedCodable, Sendable {
        case touch
        /// The stream ends.
        case end
        /// The stream fails.
        case fail
    }

    struct Fault: Error {}

    struct State: Codable, Sendable {
        var starts = 0
        var touches = 0
    }

    let initialState = State()
    private let starts = Counter()
    private let inlet: AsyncThrowingStream<Mutation, any Error>.Continuation
    private let stream: AsyncThrowingStream<Mutation, any Error>

    init() {
        (stream, inlet) = AsyncThrowingStream.makeStream()
    }

    var sources: [Source] {
        let times = starts.next()
        inlet.yield(.started(times: times))
        return [.mutations(stream, name: "feed")]
    }

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .touch: return .just(.touched)
        case .end: inlet.finish()
        case .fail: inlet.finish(throwing: Fault())
        }
        return .empty()
    }

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
