// Joining normalises: empty parts are removed, parts of the same kind are merged into the outer one
// (both operations are associative), and a `concat` of mutations only becomes a list. So the
// interpreter handles few shapes, and chains built in a loop do not nest.

extension ReactorEffect {
    /// Runs effects in sequence: each begins when the previous one has ended.
    public static func concat(_ effects: ReactorEffect...) -> ReactorEffect { concat(effects) }

    /// Runs effects in sequence: each begins when the previous one has ended.
    public static func concat(_ effects: [ReactorEffect]) -> ReactorEffect {
        if let mutations = mutationsOnly(effects) {
            return mutations.isEmpty ? .none : ReactorEffect(.several(mutations))
        }
        var parts: [EffectPart] = []
        parts.reserveCapacity(effects.count)
        for effect in effects {
            guard let part = effect.part else { continue }
            if case .concat(let inner) = part.kind { parts += inner } else { parts.append(part) }
        }
        return joined(parts) { .concat(parts) }
    }

    /// Runs effects concurrently: all begin in order, and the result ends with the last one.
    ///
    /// If one fails, the others continue; then later parts of the surrounding effect do not run.
    public static func merge(_ effects: ReactorEffect...) -> ReactorEffect { merge(effects) }

    /// Runs effects concurrently: all begin in order, and the result ends with the last one.
    ///
    /// If one fails, the others continue; then later parts of the surrounding effect do not run.
    public static func merge(_ effects: [ReactorEffect]) -> ReactorEffect {
        var parts: [EffectPart] = []
        parts.reserveCapacity(effects.count)
        for effect in effects {
            guard let part = effect.part else { continue }
            if case .merge(let inner) = part.kind { parts += inner } else { parts.append(part) }
        }
        return joined(parts) { .merge(parts) }
    }

    private static func joined(
        _ parts: [EffectPart], _ kind: () -> EffectPart.Kind
    ) -> ReactorEffect {
        guard parts.count > 1 else { return parts.first.map { ReactorEffect(.tree($0)) } ?? .none }
        let depth = parts.reduce(0) { max($0, $1.depth) } + 1
        guard depth <= EffectPart.depthLimit else { return .error(EffectLimitReached.depth) }
        return ReactorEffect(.tree(EffectPart(kind(), depth: depth)))
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

    // The part; `nil` if the effect is empty.
    private var part: EffectPart? {
        switch node {
        case .none: nil
        case .just(let mutation): Leaf(.just(mutation))
        case .several(let mutations): mutations.isEmpty ? nil : Leaf(.several(mutations))
        case .tree(let part): part
        }
    }
}
