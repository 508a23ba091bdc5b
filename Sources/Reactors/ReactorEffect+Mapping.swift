// Maps a service's results to mutations: `search(query).map { Mutation.setItems($0) }`. The tree is
// rebuilt, so that only a mapped effect has a cost.

extension ReactorEffect {
    /// Transforms each value of the effect, whether it is synchronous or from a step.
    ///
    /// Ids, policies, activities and errors stay. Like RxSwift's `map`, for a method of the reactor
    /// that returns `Observable<Value>`:
    ///
    /// ```swift
    /// self.search(query: query).map { Mutation.setItems($0) }
    /// ```
    ///
    /// - Parameter transform: Called for each value, for a step in the step's task.
    public func map<Result: Sendable>(
        _ transform: @escaping @Sendable (Mutation) -> Result
    ) -> ReactorEffect<Result, State, Activity, Action> {
        switch node {
        case .none: .none
        case .just(let value): .just(transform(value))
        case .several(let values): .from(values.map(transform))
        case .tree(let part): .init(.tree(Self.mapped(part, transform)))
        }
    }

    // Recursion is as deep as the effect, which is bounded.
    private static func mapped<Result: Sendable>(
        _ part: EffectPart, _ transform: @escaping @Sendable (Mutation) -> Result
    ) -> EffectPart {
        switch part.kind {
        case .cancel, .schedule, .error, .end: return part
        case .concat(let parts):
            return EffectPart(.concat(parts.map { mapped($0, transform) }), depth: part.depth)
        case .merge(let parts):
            return EffectPart(.merge(parts.map { mapped($0, transform) }), depth: part.depth)
        case .leaf:
            guard let leaf = part as? Leaf else { return part }
            return EffectLeaf<Result, State, Activity, Action>(mapped(leaf.content, transform))
        }
    }

    private static func mapped<Result: Sendable>(
        _ content: Leaf.Content, _ transform: @escaping @Sendable (Mutation) -> Result
    ) -> EffectLeaf<Result, State, Activity, Action>.Content {
        switch content {
        case .just(let value): .just(transform(value))
        case .several(let values): .several(values.map(transform))
        case .emit(let activity): .emit(activity)
        case .deferred(let decide): .deferred { state in try decide(state).map(transform) }
        case .run(let step):
            .run(
                .init(id: step.id, policy: step.policy) { sink in
                    try await step.work(sink.sending(transform))
                })
        }
    }
}

extension Sink {
    /// A sink that accepts values of another type, and sends the result of `transform` for each.
    func sending<Value: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Mutation
    ) -> Sink<Value, Activity> {
        Sink<Value, Activity>(
            clock: clock, step: step, send: { await self.send(transform($0)) },
            emit: { await self.emit($0) })
    }
}
