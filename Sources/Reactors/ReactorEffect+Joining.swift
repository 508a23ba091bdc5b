// Joining normalises: empty parts vanish, parts of the same kind are taken in (both operations are
// associative), and a `concat` of nothing but mutations becomes a list of them. So the machine sees
// few shapes, and chains built in a loop do not nest.

extension ReactorEffect {
    /// One after the other: each begins when the one before it has ended.
    public static func concat(_ effects: ReactorEffect...) -> ReactorEffect { concat(effects) }

    /// One after the other: each begins when the one before it has ended.
    public static func concat(_ effects: [ReactorEffect]) -> ReactorEffect {
        if let mutations = mutationsOnly(effects) {
            return mutations.isEmpty ? .none : ReactorEffect(.several(mutations))
        }
        var steps: [ReactorEffect] = []
        for effect in effects {
            if case .tree(.concat(let inner, _)) = effect.node {
                steps += inner
            } else if !effect.isEmpty {
                steps.append(effect)
            }
        }
        return joined(steps) { .concat(steps, depth: $0) }
    }

    /// Side by side: all begin in their order, and it ends when the last has ended.
    ///
    /// When one fails, the others go on; then what follows the whole does not happen.
    public static func merge(_ effects: ReactorEffect...) -> ReactorEffect { merge(effects) }

    /// Side by side: all begin in their order, and it ends when the last has ended.
    ///
    /// When one fails, the others go on; then what follows the whole does not happen.
    public static func merge(_ effects: [ReactorEffect]) -> ReactorEffect {
        var steps: [ReactorEffect] = []
        for effect in effects {
            if case .tree(.merge(let inner, _)) = effect.node {
                steps += inner
            } else if !effect.isEmpty {
                steps.append(effect)
            }
        }
        return joined(steps) { .merge(steps, depth: $0) }
    }

    private static func joined(
        _ steps: [ReactorEffect], _ tree: (_ depth: Int) -> Tree
    ) -> ReactorEffect {
        guard steps.count > 1 else { return steps.first ?? .none }
        let depth = steps.reduce(0) { max($0, $1.depth) } + 1
        guard depth <= depthLimit else { return .error(EffectLimitReached.depth) }
        return ReactorEffect(.tree(tree(depth)))
    }

    private static func mutationsOnly(_ effects: [ReactorEffect]) -> [Mutation]? {
        var mutations: [Mutation] = []
        for effect in effects {
            switch effect.node {
            case .none: break
            case .just(let mutation): mutations.append(mutation)
            case .several(let some): mutations += some
            case .tree: return nil
            }
        }
        return mutations
    }

    private var isEmpty: Bool {
        switch node {
        case .none: true
        case .several(let mutations): mutations.isEmpty
        case .just, .tree: false
        }
    }
}
