// Inlinable, so that a reactor in another module gets its own specialised copies.

extension Reactor {
    /// Empty: an action has no effect unless `mutate` is implemented.
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

    /// 1.
    public static var stateVersion: Int { 1 }

    /// Abandoned.
    public func recovery(of action: Action) -> Recovery { .abandon }
}

extension Reactor {
    /// Fails: a state that is not `Decodable` is never saved.
    public static func migrate(state saved: SavedValue) throws -> State { throw NotSaved() }

    /// Fails: a mutation that is not `Decodable` is never saved.
    public static func migrate(mutation saved: SavedValue) throws -> Mutation { throw NotSaved() }
}

package struct NotSaved: Error {
    package init() {}
}

extension Reactor where State: Decodable {
    /// Decodes it unchanged.
    public static func migrate(state saved: SavedValue) throws -> State {
        try saved.decode(State.self)
    }
}

extension Reactor where Mutation: Decodable {
    /// Decodes it unchanged.
    public static func migrate(mutation saved: SavedValue) throws -> Mutation {
        try saved.decode(Mutation.self)
    }
}

extension Reactor where Action == Mutation {
    /// The action as the mutation.
    @inlinable
    public func mutate(action: Action) -> Effect<Mutation> { .just(action) }
}
