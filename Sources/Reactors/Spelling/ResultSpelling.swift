// `mutate` and `reduce` with the right labels, but a result or a `throws` that is not allowed.

/// Refuses a `mutate` with a wrong result when a reactor is compiled.
public protocol _MutateResult: _ReactorState {
    /// The result of `mutate(action:)`; for the default, an effect.
    associatedtype _MutateValue
    /// The type of error of `mutate(action:)`.
    associatedtype _MutateFailure: Error
    /// The result of `mutate(state:action:)`; for the default, an effect.
    associatedtype _StateMutateValue
    /// The type of error of `mutate(state:action:)`.
    associatedtype _StateMutateFailure: Error

    /// `Reactor`'s requirement with any result.
    @_disfavoredOverload
    func mutate(action: Action) async throws(_MutateFailure) -> _MutateValue
    /// `Reactor`'s requirement with any result.
    @_disfavoredOverload
    func mutate(state: State, action: Action) async throws(_StateMutateFailure)
        -> _StateMutateValue

    /// Unavailable unless both return an effect and throw nothing.
    static var _mutateResult: Void { get }
}

extension _MutateResult {
    /// One of them has a wrong result, or throws.
    @available(
        *, unavailable,
        message: "mutate must return Effect<Mutation> (or Observable<Mutation>), and not throw"
    )
    public static var _mutateResult: Void { () }
}

extension _MutateResult
where
    _MutateValue == ReactorEffect<Mutation, State, Activity, Action>,
    _StateMutateValue == _MutateValue, _MutateFailure == Never, _StateMutateFailure == Never
{
    /// Both are right.
    public static var _mutateResult: Void { () }
}

/// Refuses a `reduce` with a wrong result when a reactor is compiled.
public protocol _ReduceResult: _ReactorState {
    /// The result of `reduce(state:mutation:)`; for the default, a state.
    associatedtype _ReduceValue
    /// The type of error of `reduce(state:mutation:)`.
    associatedtype _ReduceFailure: Error
    /// The result of the in-place form; for the default, none.
    associatedtype _InPlaceValue
    /// The type of error of the in-place form.
    associatedtype _InPlaceFailure: Error

    /// `Reactor`'s requirement with any result.
    @_disfavoredOverload
    func reduce(state: State, mutation: Mutation) async throws(_ReduceFailure) -> _ReduceValue
    /// `Reactor`'s requirement with any result.
    @_disfavoredOverload
    func reduce(state: inout State, mutation: Mutation) async throws(_InPlaceFailure)
        -> _InPlaceValue

    /// Unavailable unless the first returns a state, the second nothing, and neither throws.
    static var _reduceResult: Void { get }
}

extension _ReduceResult {
    /// One of them has a wrong result, or throws.
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
