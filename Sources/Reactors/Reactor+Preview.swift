extension Reactor {
    /// Whether an element of a source would change this state.
    ///
    /// Calls hooks, `mutate` and `reduce` on a copy, and keeps nothing. An element that a hook
    /// rejects, or on which a hook fails, changes nothing; an effect with parts other than
    /// mutations always counts as a change.
    func wouldChange(
        _ state: State, by element: Source.Element, isSame: (State, State) -> Bool
    ) -> Bool {
        var result = state
        do {
            switch element {
            case .mutation(let mutation):
                try reduceTransformed(mutation, &result)
            case .action(let action):
                guard let accepted = try transform(action: action) else { return false }
                switch mutate(state: state, action: accepted).node {
                case .none: return false
                case .just(let mutation): try reduceTransformed(mutation, &result)
                case .several(let mutations):
                    for mutation in mutations { try reduceTransformed(mutation, &result) }
                case .tree: return true
                }
            }
        } catch {
            return false
        }
        return !isSame(state, result)
    }

    private func reduceTransformed(_ mutation: Mutation, _ state: inout State) throws {
        guard let mutation = try transform(mutation: mutation) else { return }
        reduce(state: &state, mutation: mutation)
    }
}
