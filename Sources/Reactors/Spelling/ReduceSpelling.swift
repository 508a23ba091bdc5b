// Near misses of `reduce`: methods that resemble the requirement, which has a default, so that they
// would compile and never be called.

/// Refuses near misses of `reduce` when a reactor is compiled.
public protocol _ReduceSpelling: _ReactorState {
    /// The type of a parameter.
    associatedtype _PluralReduceState
    /// The type of a parameter.
    associatedtype _PluralReduceArgument
    /// The type of the result.
    associatedtype _PluralReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        state: _PluralReduceState, mutations mutation: _PluralReduceArgument
    ) async throws -> _PluralReduceResult

    /// The type of a parameter.
    associatedtype _InoutPluralReduceState
    /// The type of a parameter.
    associatedtype _InoutPluralReduceArgument
    /// The type of the result.
    associatedtype _InoutPluralReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        state: inout _InoutPluralReduceState, mutations mutation: _InoutPluralReduceArgument
    ) async throws -> _InoutPluralReduceResult

    /// The type of a parameter.
    associatedtype _UnlabelledReduceState
    /// The type of a parameter.
    associatedtype _UnlabelledReduceArgument
    /// The type of the result.
    associatedtype _UnlabelledReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        _ state: _UnlabelledReduceState, _ mutation: _UnlabelledReduceArgument
    ) async throws -> _UnlabelledReduceResult

    /// The type of a parameter.
    associatedtype _InoutUnlabelledReduceState
    /// The type of a parameter.
    associatedtype _InoutUnlabelledReduceArgument
    /// The type of the result.
    associatedtype _InoutUnlabelledReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        _ state: inout _InoutUnlabelledReduceState, _ mutation: _InoutUnlabelledReduceArgument
    ) async throws -> _InoutUnlabelledReduceResult

    /// The type of a parameter.
    associatedtype _HalfLabelledReduceState
    /// The type of a parameter.
    associatedtype _HalfLabelledReduceArgument
    /// The type of the result.
    associatedtype _HalfLabelledReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        _ state: _HalfLabelledReduceState, mutation: _HalfLabelledReduceArgument
    ) async throws -> _HalfLabelledReduceResult

    /// The type of a parameter.
    associatedtype _InoutHalfLabelledReduceState
    /// The type of a parameter.
    associatedtype _InoutHalfLabelledReduceArgument
    /// The type of the result.
    associatedtype _InoutHalfLabelledReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        _ state: inout _InoutHalfLabelledReduceState, mutation: _InoutHalfLabelledReduceArgument
    ) async throws -> _InoutHalfLabelledReduceResult

    /// The type of a parameter.
    associatedtype _ActionReduceState
    /// The type of a parameter.
    associatedtype _ActionReduceArgument
    /// The type of the result.
    associatedtype _ActionReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        state: _ActionReduceState, action: _ActionReduceArgument
    ) async throws -> _ActionReduceResult

    /// The type of a parameter.
    associatedtype _InoutActionReduceState
    /// The type of a parameter.
    associatedtype _InoutActionReduceArgument
    /// The type of the result.
    associatedtype _InoutActionReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        state: inout _InoutActionReduceState, action: _InoutActionReduceArgument
    ) async throws -> _InoutActionReduceResult

    /// The type of a parameter.
    associatedtype _IntoReduceState
    /// The type of a parameter.
    associatedtype _IntoReduceArgument
    /// The type of the result.
    associatedtype _IntoReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        into state: inout _IntoReduceState, action: _IntoReduceArgument
    ) async throws -> _IntoReduceResult

    /// The type of a parameter.
    associatedtype _IntoMutationReduceState
    /// The type of a parameter.
    associatedtype _IntoMutationReduceArgument
    /// The type of the result.
    associatedtype _IntoMutationReduceResult
    /// A near miss; Reactor does not call it.
    func reduce(
        into state: inout _IntoMutationReduceState, mutation: _IntoMutationReduceArgument
    ) async throws -> _IntoMutationReduceResult

    /// Unavailable if the reactor has a near miss; the message names the missing part.
    static var _reduceSpelling: Void { get }
}

extension _ReduceSpelling {
    /// There is no near miss.
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(state: _Absent, mutations mutation: _Absent) async throws -> _Absent {
        .init()
    }
}

extension _ReduceSpelling where _PluralReduceState == State, _PluralReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(state:mutations:) is never called: the label is mutation; write reduce(state: \
            inout State, mutation: Mutation) or reduce(state: State, mutation: Mutation) -> \
            State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(state: inout _Absent, mutations mutation: _Absent) async throws -> _Absent {
        .init()
    }
}

extension _ReduceSpelling
where _InoutPluralReduceState == State, _InoutPluralReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(state:mutations:) is never called: the label is mutation; write reduce(state: \
            inout State, mutation: Mutation) or reduce(state: State, mutation: Mutation) -> \
            State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(_ state: _Absent, _ mutation: _Absent) async throws -> _Absent { .init() }
}

extension _ReduceSpelling
where _UnlabelledReduceState == State, _UnlabelledReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(_:_:) is never called: write the labels, reduce(state: inout State, mutation: \
            Mutation) or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(_ state: inout _Absent, _ mutation: _Absent) async throws -> _Absent {
        .init()
    }
}

extension _ReduceSpelling
where _InoutUnlabelledReduceState == State, _InoutUnlabelledReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(_:_:) is never called: write the labels, reduce(state: inout State, mutation: \
            Mutation) or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(_ state: _Absent, mutation: _Absent) async throws -> _Absent { .init() }
}

extension _ReduceSpelling
where _HalfLabelledReduceState == State, _HalfLabelledReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(_:mutation:) is never called: write the labels, reduce(state: inout State, \
            mutation: Mutation) or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(_ state: inout _Absent, mutation: _Absent) async throws -> _Absent {
        .init()
    }
}

extension _ReduceSpelling
where _InoutHalfLabelledReduceState == State, _InoutHalfLabelledReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(_:mutation:) is never called: write the labels, reduce(state: inout State, \
            mutation: Mutation) or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(state: _Absent, action: _Absent) async throws -> _Absent { .init() }
}

extension _ReduceSpelling where _ActionReduceState == State, _ActionReduceArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(state:action:) is never called: reduce is given a mutation; write \
            reduce(state: inout State, mutation: Mutation) or reduce(state: State, mutation: \
            Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(state: inout _Absent, action: _Absent) async throws -> _Absent { .init() }
}

extension _ReduceSpelling
where _InoutActionReduceState == State, _InoutActionReduceArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(state:action:) is never called: reduce is given a mutation; write \
            reduce(state: inout State, mutation: Mutation) or reduce(state: State, mutation: \
            Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(into state: inout _Absent, action: _Absent) async throws -> _Absent {
        .init()
    }
}

extension _ReduceSpelling where _IntoReduceState == State, _IntoReduceArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(into:action:) is never called: write reduce(state: inout State, mutation: \
            Mutation) or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(into state: inout _Absent, mutation: _Absent) async throws -> _Absent {
        .init()
    }
}

extension _ReduceSpelling
where _IntoMutationReduceState == State, _IntoMutationReduceArgument == Mutation {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            reduce(into:mutation:) is never called: write reduce(state: inout State, mutation: \
            Mutation) or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}
