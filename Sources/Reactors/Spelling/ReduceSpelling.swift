// Near misses of `reduce`: methods that resemble the requirement, which has a default, so that they
// would compile and never be called.

/// Refuses near misses of `reduce` when a reactor is compiled.
public protocol _ReduceSpelling: _ReactorState {
    /// Named again, so that Swift compares it.
    override associatedtype Action: Sendable
    /// Named again, so that Swift compares it.
    override associatedtype State: Sendable

    /// The result of a near miss.
    associatedtype _ActionReduce
    /// A near miss; Reactor does not call it.
    func reduce(state: State, action: Action) async throws -> _ActionReduce

    /// The result of a near miss.
    associatedtype _InoutActionReduce
    /// A near miss; Reactor does not call it.
    func reduce(state: inout State, action: Action) async throws -> _InoutActionReduce

    /// The result of a near miss.
    associatedtype _IntoReduce
    /// A near miss; Reactor does not call it.
    func reduce(into state: inout State, action: Action) async throws -> _IntoReduce

    /// Unavailable if the reactor has a near miss; the message says what to write.
    static var _reduceSpelling: Void { get }
}

extension _ReduceSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func reduce(state: State, action: Action) async throws -> _Absent { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func reduce(state: inout State, action: Action) async throws -> _Absent { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func reduce(into state: inout State, action: Action) async throws -> _Absent { .init() }
}

extension _ReduceSpelling {
    /// The reactor has a near miss.
    @available(
        *, unavailable,
        message: """
            a reduce of this reactor is never called: write reduce(state: inout State, \
            mutation: Mutation), or reduce(state: State, mutation: Mutation) -> State
            """
    )
    public static var _reduceSpelling: Void { () }
}

extension _ReduceSpelling
where _ActionReduce == _Absent, _InoutActionReduce == _Absent, _IntoReduce == _Absent {
    /// There is no near miss.
    public static var _reduceSpelling: Void { () }
}
