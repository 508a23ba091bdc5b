import Reactors

/// A reactor that sets and cancels timers. The number of a timer's action decides whether it is
/// accepted, rejected or refused, or sets a timer again.
struct Alarm: Reactor {
    enum Action: TaggedCodable, Sendable {
        case mark(number: Int)
        case set(name: String, after: Int, ring: Int)
        /// Milliseconds since 1970.
        case setAt(name: String, at: Int64, ring: Int)
        case cancel(name: String)
        /// Sets, cancels and sets the same timer.
        case waver(name: String, after: Int, ring: Int)
        /// Sets a timer whose action has about this number of bytes.
        case setLarge(name: String, bytes: Int)
        /// Sets a timer that is due at once, waits, and sets it again.
        case setTwice(name: String, ring: Int)
        /// The action of a timer.
        case ring(name: String, ring: Int)
        /// Sets a timer, then fails.
        case fail(name: String, ring: Int)
        /// Refused after it has set, replaced and cancelled timers.
        case decline(number: Int)
    }

    enum Mutation: TaggedCodable, Sendable {
        case marked(number: Int)
        case rang(ring: Int)
    }

    struct State: Codable, Sendable, Equatable {
        @Pulse var mark = 0
        var rung: [Int] = []
    }

    struct Fault: Error {}

    let initialState = State()

    func transform(action: Action) throws -> Action? {
        guard case .ring(_, let ring) = action, ring % 7 == 5 else { return action }
        return nil
    }

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .mark(let number): .just(.marked(number: number))
        case .set(let name, let after, let ring): set(name, after, ring)
        case .setAt(let name, let at, let ring):
            .schedule(
                EffectID(name), at: Self.date(milliseconds: at), .ring(name: name, ring: ring))
        case .cancel(let name): .cancel(EffectID(name))
        case .waver(let name, let after, let ring):
            .concat(
                set(name, after + 7, ring + 1), .cancel(EffectID(name)), set(name, after, ring))
        case .setLarge(let name, let bytes):
            .schedule(
                EffectID(name), after: .seconds(3_600),
                .ring(name: String(repeating: "x", count: bytes), ring: 0))
        case .setTwice(let name, let ring):
            .concat(set(name, 0, ring), .run { _ in }, set(name, 0, ring + 7))
        case .fail(let name, let ring): .concat(set(name, 10, ring), .error(Fault()))
        case .ring(let name, let ring):
            switch ring % 7 {
            case 3: .concat(.just(.rang(ring: ring)), .refuse("late", "It is too late."))
            case 4: .concat(.just(.rang(ring: ring)), set(name, ring % 50, ring + 1))
            case 6: .concat(.just(.rang(ring: ring)), .error(Fault()))
            default: .just(.rang(ring: ring))
            }
        case .decline(let number):
            .concat(
                .just(.marked(number: number)),
                .schedule("a", after: .zero, .decline(number: number)), .cancel("b"),
                .schedule("declined", after: .seconds(1), .decline(number: number)),
                .refuse("declined", "\(number) is declined."))
        }
    }

    private func set(_ name: String, _ after: Int, _ ring: Int) -> Effect<Mutation> {
        .schedule(EffectID(name), after: .milliseconds(after), .ring(name: name, ring: ring))
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .marked(let number): state.mark = number
        case .rang(let ring): state.rung.append(ring)
        }
    }
}

extension Post {
    static func alarm(_ name: String, after: Int, ring: Int) -> String {
        #"{"type":"set","name":"\#(name)","after":\#(after),"ring":\#(ring)}"#
    }

    static func alarm(_ name: String, at: Int64, ring: Int) -> String {
        #"{"type":"setAt","name":"\#(name)","at":\#(at),"ring":\#(ring)}"#
    }

    static func silence(_ name: String) -> String { #"{"type":"cancel","name":"\#(name)"}"# }
}
