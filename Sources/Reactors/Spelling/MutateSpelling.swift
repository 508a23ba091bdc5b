// Near misses of `mutate`: methods that resemble the requirement, which has a default, so that they
// would compile and never be called.

/// Refuses near misses of `mutate` when a reactor is compiled.
public protocol _MutateSpelling: _ReactorState {
    /// The type of a parameter.
    associatedtype _UnlabelledMutateArgument
    /// The type of the result.
    associatedtype _UnlabelledMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(_ action: _UnlabelledMutateArgument) async throws -> _UnlabelledMutateResult

    /// The type of a parameter.
    associatedtype _UnlabelledStateMutateState
    /// The type of a parameter.
    associatedtype _UnlabelledStateMutateArgument
    /// The type of the result.
    associatedtype _UnlabelledStateMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(
        _ state: _UnlabelledStateMutateState, _ action: _UnlabelledStateMutateArgument
    ) async throws -> _UnlabelledStateMutateResult

    /// The type of a parameter.
    associatedtype _HalfLabelledMutateState
    /// The type of a parameter.
    associatedtype _HalfLabelledMutateArgument
    /// The type of the result.
    associatedtype _HalfLabelledMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(
        _ state: _HalfLabelledMutateState, action: _HalfLabelledMutateArgument
    ) async throws -> _HalfLabelledMutateResult

    /// The type of a parameter.
    associatedtype _ReversedMutateArgument
    /// The type of a parameter.
    associatedtype _ReversedMutateState
    /// The type of the result.
    associatedtype _ReversedMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(
        action: _ReversedMutateArgument, state: _ReversedMutateState
    ) async throws -> _ReversedMutateResult

    /// The type of a parameter.
    associatedtype _InoutMutateState
    /// The type of a parameter.
    associatedtype _InoutMutateArgument
    /// The type of the result.
    associatedtype _InoutMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(
        state: inout _InoutMutateState, action: _InoutMutateArgument
    ) async throws -> _InoutMutateResult

    /// The type of a parameter.
    associatedtype _CertainSubjectMutateState
    /// The type of a parameter.
    associatedtype _CertainSubjectMutateArgument
    /// The type of the result.
    associatedtype _CertainSubjectMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(
        state: _CertainSubjectMutateState, action: _CertainSubjectMutateArgument, subject: String
    ) async throws -> _CertainSubjectMutateResult

    /// The type of a parameter.
    associatedtype _StatelessSubjectMutateArgument
    /// The type of a parameter.
    associatedtype _StatelessSubjectMutateSubject
    /// The type of the result.
    associatedtype _StatelessSubjectMutateResult
    /// A near miss; Reactor does not call it.
    func mutate(
        action: _StatelessSubjectMutateArgument, subject: _StatelessSubjectMutateSubject
    ) async throws -> _StatelessSubjectMutateResult

    /// Unavailable if the reactor has a near miss; the message names the missing part.
    static var _mutateSpelling: Void { get }
}

extension _MutateSpelling {
    /// There is no near miss.
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(_ action: _Absent) async throws -> _Absent { .init() }
}

extension _MutateSpelling where _UnlabelledMutateArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(_:) is never called: write the label, mutate(action: Action), or take the \
            state as well, mutate(state: State, action: Action)
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(_ state: _Absent, _ action: _Absent) async throws -> _Absent { .init() }
}

extension _MutateSpelling
where _UnlabelledStateMutateState == State, _UnlabelledStateMutateArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(_:_:) is never called: write the labels, mutate(state: State, action: Action)
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(_ state: _Absent, action: _Absent) async throws -> _Absent { .init() }
}

extension _MutateSpelling
where _HalfLabelledMutateState == State, _HalfLabelledMutateArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(_:action:) is never called: write the labels, mutate(state: State, action: \
            Action)
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(action: _Absent, state: _Absent) async throws -> _Absent { .init() }
}

extension _MutateSpelling where _ReversedMutateArgument == Action, _ReversedMutateState == State {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(action:state:) is never called: the state comes first, mutate(state: State, \
            action: Action)
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(state: inout _Absent, action: _Absent) async throws -> _Absent { .init() }
}

extension _MutateSpelling where _InoutMutateState == State, _InoutMutateArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(state: inout State, action:) is never called: mutate reads the state, reduce \
            changes it; write mutate(state: State, action: Action)
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(
        state: _Absent, action: _Absent, subject: String
    ) async throws -> _Absent { .init() }
}

extension _MutateSpelling
where _CertainSubjectMutateState == State, _CertainSubjectMutateArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(state:action:subject: String) is never called: there may be no subject; write \
            mutate(state: State, action: Action, subject: String?)
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(action: _Absent, subject: _Absent) async throws -> _Absent { .init() }
}

extension _MutateSpelling where _StatelessSubjectMutateArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            mutate(action:subject:) is never called: write mutate(state: State, action: Action, \
            subject: String?)
            """
    )
    public static var _mutateSpelling: Void { () }
}
