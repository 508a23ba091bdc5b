import Foundation
import Reactors

/// Sets timers, and records their actions with the times at which they arrived.
struct Rounds: Reactor {
    enum Action: TaggedCodable, Sendable {
        case set(name: String, after: Int, ring: Int)
        case cancel(name: String)
        /// Refused after it has set a timer and cancelled all others that it names.
        case decline(cancel: String)
        case ring(ring: Int, due: Date)
    }

    enum Mutation: TaggedCodable, Sendable {
        case rang(ring: Int, isEarly: Bool)
    }

    struct State: Codable, Sendable {
        var rung: [Int] = []
        var early = 0
    }

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .set(let name, let after, let ring):
            .schedule(
                EffectID(name), after: .milliseconds(after),
                .ring(ring: ring, due: Date(timeIntervalSinceNow: Double(after) / 1_000)))
        case .cancel(let name): .cancel(EffectID(name))
        case .decline(let name):
            .concat(
                .schedule("declined", after: .zero, .cancel(name: name)), .cancel(EffectID(name)),
                .refuse("declined", "No."))
        case .ring(let ring, let due): .just(.rang(ring: ring, isEarly: Self.isEarly(due)))
        }
    }

    /// A date travels in whole milliseconds.
    private static func isEarly(_ due: Date) -> Bool {
        Date.now < due.addingTimeInterval(-0.001)
    }

    func reduce(state: inout State, mutation: Mutation) {
        guard case .rang(let ring, let isEarly) = mutation else { return }
        state.rung.append(ring)
        if isEarly { state.early += 1 }
    }
}
