import Reactors

/// Pulses of several kinds, and every way of assigning them (cases 2, 7, 11 to 15, 24, 26).
struct Pulses: Reactor {

    enum Action: TaggedCodable, Sendable {
        case setValue(number: Int)
        case setA(number: Int)
        case setB(number: Int)
        case append(number: Int)
        case setText(text: String?)
        /// Assigns twice in one `reduce`.
        case twice(first: String, second: String)
        case setThenClear(text: String)
        /// Replaces the state by a new one.
        case reset
        case resetAndSet(text: String)
        /// Changes a field that is no pulse.
        case touch
        /// Makes no mutation.
        case nothing
        /// Makes two mutations, `setA` and `setB`.
        case setBoth(a: Int, b: Int)
        /// Makes one mutation that assigns `a` and `b`.
        case setPair(a: Int, b: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var value = 0
        @Pulse var greeting: String? = "Hello tokijh"
        @Pulse var text: String?
        @Pulse var items: [Int] = []
        @Pulse var a: Int?
        @Pulse var b: Int?
        var plain = 0
    }

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .nothing: return .empty()
        case .setBoth(let a, let b): return .of(.setA(number: a), .setB(number: b))
        default: return .just(action)
        }
    }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .setValue(let number): state.value = number
        case .setA(let number): state.a = number
        case .setB(let number): state.b = number
        case .append(let number): state.items.append(number)
        case .setText(let text): state.text = text
        case .twice(let first, let second):
            state.text = first
            state.text = second
        case .setThenClear(let text):
            state.text = text
            state.text = nil
        case .reset: state = State()
        case .resetAndSet(let text):
            state = State()
            state.text = text
        case .setPair(let a, let b):
            state.a = a
            state.b = b
        case .touch: state.plain += 1
        case .nothing, .setBoth: break
        }
    }
}
