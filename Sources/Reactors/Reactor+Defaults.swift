// Inlinable, so that a reactor in another module gets its own specialised copies.

extension Reactor {
    /// Nothing: an action leads nowhere until `mutate` says otherwise.
    @inlinable
    public func mutate(action: Action) -> Effect<Mutation> { .none }

    /// Forwards to the form without the state.
    @inlinable
    public func mutate(state: State, action: Action) -> Effect<Mutation> { mutate(action: action) }

    /// The state unchanged.
    @inlinable
    public func reduce(state: State, mutation: Mutation) -> State { state }

    /// Forwards to the form that returns the state.
    @inlinable
    public func reduce(state: inout State, mutation: Mutation) {
        state = reduce(state: state, mutation: mutation)
    }

    /// The action itself.
    @inlinable
    public func transform(action: Action) throws -> Action? { action }

    /// The mutation itself.
    @inlinable
    public func transform(mutation: Mutation) throws -> Mutation? { mutation }

    /// The state itself.
    @inlinable
    public func transform(state: State) throws -> State { state }

    /// No streams.
    @inlinable
    public var sources: [Source] { [] }
}

extension Reactor where Action == Mutation {
    /// The action as the mutation.
    @inlinable
    public func mutate(action: Action) -> Effect<Mutation> { .just(action) }
}
