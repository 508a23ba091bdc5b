// Why a base class without generic parameters: the interpreter and its frames then hold plain
// references. With generic values instead, half of the time was spent on run-time look-ups of their
// types, because a server's session code is not specialised for a reactor.

@usableFromInline
class EffectPart {
    // Invariant: `concat` and `merge` have two parts or more, none empty or of the same kind.
    enum Kind {
        case concat([EffectPart])
        case merge([EffectPart])
        case cancel(EffectID)
        // The last value is an action of the reactor's type.
        case schedule(EffectID, TimerTime, any Sendable)
        case error(any Error)
        case end
        // An `EffectLeaf`, which depends on the reactor's types.
        case leaf
    }

    // Releasing a tree recurses into it: this bounds the required stack.
    static let depthLimit = 500

    let kind: Kind
    let depth: Int

    // Whether the effect contains a refusal, or a `.deferred`, which may return one. Usually a host
    // shows mutations at once. It holds them back only if this is true.
    @usableFromInline
    let mayRefuse: Bool

    init(_ kind: Kind, depth: Int = 0, mayRefuse: Bool = false) {
        self.kind = kind
        self.depth = depth
        self.mayRefuse =
            switch kind {
            case .concat(let parts), .merge(let parts): parts.contains { $0.mayRefuse }
            case .error(let error): error is Refusal
            case .cancel, .schedule, .end, .leaf: mayRefuse
            }
    }
}

/// A part that depends on the reactor's own types.
final class EffectLeaf<
    Mutation: Sendable, State: Sendable, Activity: Sendable, Action: Sendable
>: EffectPart {
    enum Content {
        case just(Mutation)
        case several([Mutation])
        case deferred((State) throws -> ReactorEffect<Mutation, State, Activity, Action>)
        case run(Step)
        case emit(Activity)
    }

    /// The asynchronous part of an effect, before it begins.
    struct Step: Sendable {
        let id: EffectID?
        let policy: EffectPolicy
        let work: @Sendable (Sink<Mutation, Activity>) async throws -> Void
    }

    let content: Content

    init(_ content: Content) {
        self.content = content
        let mayRefuse = if case .deferred = content { true } else { false }
        super.init(.leaf, mayRefuse: mayRefuse)
    }
}
