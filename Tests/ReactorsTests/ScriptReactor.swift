import Reactors

/// Runs the effect that the action carries, and keeps every mutation in its state.
///
/// Actions are scripts, so that a test names its effect in one line.
struct ScriptReactor: Reactor {
    struct Action: Sendable {
        let effect: @Sendable () -> ScriptEffect
    }

    typealias Mutation = String
    typealias State = [String]
    typealias Activity = String

    var initialState: [String] { [] }

    func mutate(action: Action) -> Effect<String> { action.effect() }

    func reduce(state: inout [String], mutation: String) { state.append(mutation) }
}

typealias ScriptEffect = ReactorEffect<String, [String], String, ScriptReactor.Action>

extension CoreProbe<ScriptReactor> {
    convenience init() { self.init(ScriptReactor()) }

    @discardableResult
    func perform(
        _ effect: @escaping @Sendable @autoclosure () -> ScriptEffect
    ) -> Disposition {
        send(ScriptReactor.Action(effect: effect))
    }
}

extension ScriptEffect {
    /// A step that a probe ends by hand.
    static func step(_ id: EffectID, _ policy: EffectPolicy = .merge) -> ScriptEffect {
        .run(id: id, policy: policy) { _ in }
    }
}

struct Mishap: Error, Equatable {}
