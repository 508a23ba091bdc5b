// `mutate` and `reduce` with the right labels, and a result or a `throws` that they must not have.

/// Refuses a `mutate` with a wrong result when a reactor is compiled.
public protocol _MutateResult: _ReactorState {
    /// What `mutate(action:)` returns; of the default, an effect.
    associatedtype _MutateValue
    /// What `mutate(action:)` throws.
    associatedtype _MutateFailure: Error
    /// What `mutate(state:action:)` returns; of the default, an effect.
    associatedtype _StateMutateValue
    /// What `mutate(state:action:)` throws.
    associatedtype _StateMutateFailure: Error

    /// `Reactor`'s requirement, whatever it returns.
    @_disfavoredOverload
    func mutate(action: Action) async throws(_MutateFailure) -> _MutateValue
    /// `Reactor`'s requirement, whatever it returns.
    @_disfavoredOverload
    func mutate(state: State, action: Action) async throws(_StateMutateFailure)
        -> _StateMutateValue

    /// Unavailable unless both return an effect and throw nothing.
    static var _mutateResult: Void { get }
}

extension _MutateResult {
    /// One of them has another result, or throws.
    @available(
        *, unavailable,
        message: "mutate must return Effect<Mutation> (or Observable<Mutation>), and not throw"
    )
    public static var _mutateResult: Void { () }
}

extension _MutateResult
where
    _MutateValue == ReactorEffect<Mutation, State, Activity>,
    _StateMutateValue == _MutateValue, _MutateFailure == Never, _StateMutateFailure == Never
{
    /// Both are right.
    public static var _mutateResult: Void { () }
}

/// Refuses a `reduce` with a wrong result when a reactor is compiled.
public protocol _ReduceResult: _ReactorState {
    /// What `reduce(state:mutation:)` returns; of the default, a state.
    associatedtype _ReduceValue
    /// What it throws.
    associatedtype _ReduceFailure: Error
    /// What the form that changes the state in place returns; of the default, nothing.
    associatedtype _InPlaceValue
    /// What that throws.
    associatedtype _InPlaceFailure: Error

    /// `Reactor`'s requirement, whatever it returns.
    @_disfavoredOverload
    func reduce(state: State, mutation: Mutation) async throws(_ReduceFailure) -> _ReduceValue
    /// `Reactor`'s requirement, whatever it returns.
    @_disfavoredOverload
    func reduce(state: inout State, mutation: Mutation) async throws(_InPlaceFailure)
        -> _InPlaceValue

    /// Unavailable unless the one returns a state, the other nothing, and neither throws.
    static var _reduceResult: Void { get }
}

extension _ReduceResult {
    /// One of them has another result, or throws.
    @available(
        *, unavailable,
        message: """
            reduce must return State, or change an inout State and return nothing, and not throw
            """
    )
    public static var _reduceResult: Void { () }
}

extension _ReduceResult
where
    _ReduceValue == State, _InPlaceValue == Void, _ReduceFailure == Never,
    _InPlaceFailure == Never
{
    /// Both are right.
    public static var _reduceResult: Void { () }
}
