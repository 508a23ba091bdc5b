import Reactors
import Sessions
import Synchronization

/// A text that is as long as the last action says.
struct Sized: Reactor {
    struct Action: Codable, Sendable { var size: Int }
    typealias Mutation = Action
    struct State: Codable, Sendable {
        var size = 0
        var text = ""
        private enum CodingKeys: CodingKey { case size, text }

        /// Counts the states that the present test encodes.
        @TaskLocal static var encoded: CallCounter?

        init() {}

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            size = try values.decode(Int.self, forKey: .size)
            text = try values.decode(String.self, forKey: .text)
        }

        func encode(to encoder: any Encoder) throws {
            Self.encoded?.add()
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(size, forKey: .size)
            try values.encode(text, forKey: .text)
        }
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        state.size = mutation.size
        state.text = String(repeating: "x", count: mutation.size)
    }
}

extension Registration {
    static func sized() throws -> Registration { try .of("sized", activities: []) { Sized() } }
}

/// Counts calls.
final class CallCounter: Sendable {
    private let calls = Mutex(0)

    var count: Int { calls.withLock { $0 } }

    func add() { calls.withLock { $0 += 1 } }
}
