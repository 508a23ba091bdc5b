import Reactors
import Synchronization

/// Counts changes in place of a state that was also referenced elsewhere.
final class Copies: Sendable {
    private let counter = Atomic<Int>(0)

    var count: Int { counter.load(ordering: .relaxed) }
    func add() { counter.add(1, ordering: .relaxed) }
}

/// A state that is expensive to copy and counts its copies.
struct Grower: Reactor {
    enum Action: TaggedCodable, Sendable {
        case grow
    }

    /// The storage of an array, with its copies counted.
    final class Storage: Sendable {
        let size: Int

        init(size: Int) {
            self.size = size
        }
    }

    struct State: Codable, Sendable {
        @Pulse var seen = 0
        var storage = Storage(size: 0)
        var size = 0

        enum CodingKeys: CodingKey {
            case seen, size
        }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _seen = try container.decode(Pulse<Int>.self, forKey: .seen)
            size = try container.decode(Int.self, forKey: .size)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(_seen, forKey: .seen)
            try container.encode(size, forKey: .size)
        }
    }

    let initialState = State()
    let copies: Copies

    func reduce(state: inout State, mutation: Action) {
        state.size += 1
        guard !isKnownUniquelyReferenced(&state.storage) else { return }
        copies.add()
        state.storage = Storage(size: state.size)
    }
}
