// Near misses of the hooks: methods that resemble a requirement with a default, compile, and would
// never be called. ReactorKit's `transform`s, which receive streams, are among them.

/// Refuses near misses of the hooks when a reactor is compiled.
public protocol _HookSpelling: _ReactorState {
    /// Named again, so that Swift compares it.
    override associatedtype Action: Sendable
    /// Named again, so that Swift compares it.
    override associatedtype State: Sendable

    /// The result of a near miss.
    associatedtype _ActionStream
    /// A near miss; Reactor does not call it.
    func transform(action stream: ReactorEffect<Action, State, Activity, Action>) async throws
        -> _ActionStream

    /// The result of a near miss.
    associatedtype _MutationStream
    /// A near miss; Reactor does not call it.
    func transform(mutation stream: ReactorEffect<Mutation, State, Activity, Action>) async throws
        -> _MutationStream

    /// The result of a near miss.
    associatedtype _StateStream
    /// A near miss; Reactor does not call it.
    func transform(state stream: ReactorEffect<State, State, Activity, Action>) async throws
        -> _StateStream

    /// The result of a near miss.
    associatedtype _CertainSubjectTransform
    /// A near miss; Reactor does not call it.
    func transform(action: Action, subject: String) async throws -> _CertainSubjectTransform

    /// The type of a near miss.
    associatedtype _InstanceVersion
    /// A near miss; Reactor does not read it.
    var stateVersion: _InstanceVersion { get }

    /// Unavailable if the reactor has a near miss; the message says what to write.
    static var _streamSpelling: Void { get }

    /// Unavailable if the reactor has a near miss; the message says what to write.
    static var _subjectSpelling: Void { get }

    /// Unavailable if the reactor has a near miss; the message says what to write.
    static var _versionSpelling: Void { get }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func transform(action stream: ReactorEffect<Action, State, Activity, Action>)
        async throws
        -> _Absent
    { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func transform(mutation stream: ReactorEffect<Mutation, State, Activity, Action>)
        async throws
        -> _Absent
    { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func transform(state stream: ReactorEffect<State, State, Activity, Action>) async throws
        -> _Absent
    { .init() }

    /// Stands in where the reactor has no method of this shape.
    public func transform(action: Action, subject: String) async throws -> _Absent { .init() }

    /// Stands in where the reactor has no property of this name.
    public var stateVersion: _Absent { .init() }
}

extension _HookSpelling {
    /// The reactor has a near miss.
    @available(
        *, unavailable,
        message: """
            a transform of a stream is never called, because there are no streams: write \
            transform(action: Action) -> Action?, transform(mutation: Mutation) -> \
            Mutation? or transform(state: State) -> State; what is merged in stands in \
            sources
            """
    )
    public static var _streamSpelling: Void { () }
}

extension _HookSpelling
where _ActionStream == _Absent, _MutationStream == _Absent, _StateStream == _Absent {
    /// There is no near miss.
    public static var _streamSpelling: Void { () }
}

extension _HookSpelling {
    /// The reactor has a near miss.
    @available(
        *, unavailable,
        message: """
            transform(action:subject: String) is never called, because there may be no \
            subject: write transform(action: Action, subject: String?) -> Action?
            """
    )
    public static var _subjectSpelling: Void { () }
}

extension _HookSpelling where _CertainSubjectTransform == _Absent {
    /// There is no near miss.
    public static var _subjectSpelling: Void { () }
}

extension _HookSpelling {
    /// The reactor has a near miss.
    @available(
        *, unavailable,
        message: """
            stateVersion is static: write static var stateVersion: Int
            """
    )
    public static var _versionSpelling: Void { () }
}

extension _HookSpelling where _InstanceVersion == _Absent {
    /// There is no near miss.
    public static var _versionSpelling: Void { () }
}
