import Foundation
import Reactors

/// Effects that wait until another action releases them: they show without a clock which part is
/// synchronous (cases 37, 71, 87, 90, 91).
final class Held: Reactor {

    enum Action: TaggedCodable, Sendable {
        /// Begins to wait; once released, sets the text.
        case hold(text: String)
        case release
        case touch
    }

    enum Mutation: TaggedCodable, Sendable {
        case holding
        case set(text: String)
        case touched
    }

    struct State: Codable, Sendable {
        @Pulse var text: String?
        var holding = 0
        var touches = 0
    }

    let initialState = State()
    private let gate: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation

    init() {
        (gate, opener) = AsyncStream.makeStream()
    }

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .hold(let text):
            let gate = gate
            return .concat(
                .just(.holding),
                .run { send in
                    var iterator = gate.makeAsyncIterator()
                    guard await iterator.next() != nil else {
                        // Reports the cancellation of an ended session's effect to the test,
                        // through standard error.
                        FileHandle.standardError.write(Data("cancelled \(text)\n".utf8))
                        return
                    }
                    await send(.set(text: text))
                })
        case .release:
            opener.yield()
            return .empty()
        case .touch:
            return .just(.touched)
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .holding: state.holding += 1
        case .set(let text): state.text = text
        case .touched: state.touches += 1
        }
    }
}
