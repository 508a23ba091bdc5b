// Near misses of `mutate`: methods that resemble the requirement, which has a default, so that they
// would compile and never be called.

/// Refuses near misses of `mutate` when a reactor is compiled.
public protocol _MutateSpelling: _ReactorState {
    /// Named again, so that Swift compares it.
    override associatedtype Action: Sendable
    /// Named again, so that Swift compares it.
    override associatedtype State: Sendable

    /// The result of a near miss.
    associatedtype _UnlabelledMutate
    /// A near miss; Reactor does not call it.
    func mutate(_ action: Action) async throws -> _UnlabelledMutate

    /// The result of a near miss.
    associatedtype _ReversedMutate
    /// A near miss; Reactor does not call it.
    func mutate(action: Action, state: State) async throws -> _ReversedMutate

    /// The result of a near miss.
    associatedtype _InoutMutate
    /// A near miss; Reactor does not call it.
    func mutate(state: inout State, action: Action) async throws -> _InoutMutate

    /// The result of a near miss.
    associatedtype _CertainSubjectMutate
    /// A near miss; Reactor does not call it.
    func mutate(state: State, action: Action, subject: String) async throws -> _CertainSubjectMutate

    /// Unavailable if the reactor has a near miss; the message says what to write.
    static var _mutateSpelling: Void { get }
}

extension _MutateSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func mutate(_ action: Action) async throws -> _Absent { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func mutate(action: Action, state: State) async throws -> _Absent { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func mutate(state: inout State, action: Action) async throws -> _Absent { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func mutate(state: State, action: Action, subject: String) async throws -> _Absent {
        .init()
    }
}

extension _MutateSpelling {
    /// The reactor has a near miss.
    @available(
        *, unavailable,
        message: """
            a mutate of this reactor is never called: write mutate(action: Action), \
            mutate(state: State, action: Action), or mutate(state: State, action: \
            Action, subject: String?); only reduce changes the state
            """
    )
    public static var _mutateSpelling: Void { () }
}

extension _MutateSpelling
where
    _UnlabelledMutate == _Absent, _ReversedMutate == _Absent, _InoutMutate == _Absent,
    _CertainSubjectMutate == _Absent
{
    /// There is no near miss.
    public static var _mutateSpelling: Void { () }
}
