// Inlinable, so that a reactor in another module gets its own specialised copies.

extension Reactor {
    /// Returns an empty effect: an action has no effect unless `mutate` is implemented.
    @inlinable
    public func mutate(action: Action) -> Effect<Mutation> { .none }

    /// Forwards to the form without the state.
    @inlinable
    public func mutate(state: State, action: Action) -> Effect<Mutation> { mutate(action: action) }

    /// Forwards to the form without the client.
    @inlinable
    public func mutate(state: State, action: Action, subject: String?) -> Effect<Mutation> {
        mutate(state: state, action: action)
    }

    /// Returns the state unchanged.
    @inlinable
    public func reduce(state: State, mutation: Mutation) -> State { state }

    /// Forwards to the form that returns the state.
    @inlinable
    public func reduce(state: inout State, mutation: Mutation) {
        state = reduce(state: state, mutation: mutation)
    }

    /// Returns the action itself.
    @inlinable
    public func transform(action: Action) throws -> Action? { action }

    /// Forwards to the form without the client.
    @inlinable
    public func transform(action: Action, subject: String?) throws -> Action? {
        try transform(action: action)
    }

    /// Returns the mutation itself.
    @inlinable
    public func transform(mutation: Mutation) throws -> Mutation? { mutation }

    /// Returns the state itself.
    @inlinable
    public func transform(state: State) throws -> State { state }

    /// No sources.
    @inlinable
    public var sources: [Source] { [] }

    /// Version 1.
    public static var stateVersion: Int { 1 }

    /// Nil: the setting of the server applies.
    public static var expiresAfter: Duration? { nil }

    /// No tags.
    public static func tags(of state: State) -> Tags { .undeclared }

    /// Abandons the action.
    public func recovery(of action: Action) -> Recovery { .abandon }

    /// Calls the form without the interruption. After a failure, accepts only an answer with a
    /// time.
    public func recovery(of action: Action, after interruption: Interruption) -> Recovery {
        let recovery = recovery(of: action)
        guard interruption.error != nil else { return recovery }
        // Why: without a time, effects that always fail would run again and again with no pause.
        if case .runAgain(let time) = recovery, time > .zero { return recovery }
        return .abandon
    }
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
    /// Uses the action as the mutation.
    @inlinable
    public func mutate(action: Action) -> Effect<Mutation> { .just(action) }
}
