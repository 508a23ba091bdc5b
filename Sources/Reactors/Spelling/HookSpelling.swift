// Near misses of the hooks: methods that resemble a requirement, which has a default, so that they
// would compile and never be called. ReactorKit's `transform`s, which receive streams, are among
// them.

/// Refuses near misses of the hooks when a reactor is compiled.
public protocol _HookSpelling: _ReactorState {
    /// The type of a parameter.
    associatedtype _ActionStreamArgument
    /// The type of the result.
    associatedtype _ActionStreamResult
    /// A near miss; Reactor does not call it.
    func transform(action stream: _ActionStreamArgument) async throws -> _ActionStreamResult

    /// The type of a parameter.
    associatedtype _CertainSubjectTransformArgument
    /// The type of the result.
    associatedtype _CertainSubjectTransformResult
    /// A near miss; Reactor does not call it.
    func transform(
        action: _CertainSubjectTransformArgument, subject: String
    ) async throws -> _CertainSubjectTransformResult

    /// The type of a parameter.
    associatedtype _MutationStreamArgument
    /// The type of the result.
    associatedtype _MutationStreamResult
    /// A near miss; Reactor does not call it.
    func transform(mutation stream: _MutationStreamArgument) async throws -> _MutationStreamResult

    /// The type of a parameter.
    associatedtype _StateStreamArgument
    /// The type of the result.
    associatedtype _StateStreamResult
    /// A near miss; Reactor does not call it.
    func transform(state stream: _StateStreamArgument) async throws -> _StateStreamResult

    /// The type of a parameter.
    associatedtype _UnlabelledRecoveryArgument
    /// The type of the result.
    associatedtype _UnlabelledRecoveryResult
    /// A near miss; Reactor does not call it.
    func recovery(_ action: _UnlabelledRecoveryArgument) async throws -> _UnlabelledRecoveryResult

    /// The type of a parameter.
    associatedtype _ForRecoveryArgument
    /// The type of the result.
    associatedtype _ForRecoveryResult
    /// A near miss; Reactor does not call it.
    func recovery(for action: _ForRecoveryArgument) async throws -> _ForRecoveryResult

    /// The type of a parameter.
    associatedtype _InstanceMigrateStateArgument
    /// The type of the result.
    associatedtype _InstanceMigrateStateResult
    /// A near miss; Reactor does not call it.
    func migrate(
        state saved: _InstanceMigrateStateArgument
    ) async throws -> _InstanceMigrateStateResult

    /// The type of a parameter.
    associatedtype _InstanceMigrateMutationArgument
    /// The type of the result.
    associatedtype _InstanceMigrateMutationResult
    /// A near miss; Reactor does not call it.
    func migrate(
        mutation saved: _InstanceMigrateMutationArgument
    ) async throws -> _InstanceMigrateMutationResult

    /// Its type.
    associatedtype _InstanceStateVersion
    /// A near miss; Reactor does not read it.
    var stateVersion: _InstanceStateVersion { get }

    /// Unavailable if the reactor has a near miss; the message names the missing part.
    static var _hookSpelling: Void { get }
}

extension _HookSpelling {
    /// There is no near miss.
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func transform(action stream: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _ActionStreamArgument == ReactorEffect<Action, State, Activity> {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            transform(action: Observable<Action>) is never called: there are no streams to \
            transform; write transform(action: Action) -> Action?, and what is merged in stands \
            in sources
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func transform(mutation stream: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _MutationStreamArgument == ReactorEffect<Mutation, State, Activity> {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            transform(mutation: Observable<Mutation>) is never called: there are no streams to \
            transform; write transform(mutation: Mutation) -> Mutation?, and what is merged in \
            stands in sources
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func transform(state stream: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _StateStreamArgument == ReactorEffect<State, State, Activity> {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            transform(state: Observable<State>) is never called: there are no streams to \
            transform; write transform(state: State) -> State
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func recovery(_ action: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _UnlabelledRecoveryArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            recovery(_:) is never called: write recovery(of: Action) -> Recovery
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func recovery(for action: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _ForRecoveryArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            recovery(for:) is never called: write recovery(of: Action) -> Recovery
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func migrate(state saved: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _InstanceMigrateStateArgument == SavedValue {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            migrate(state:) is static: write static func migrate(state: SavedValue) throws -> \
            State
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func migrate(mutation saved: _Absent) async throws -> _Absent { .init() }
}

extension _HookSpelling where _InstanceMigrateMutationArgument == SavedValue {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            migrate(mutation:) is static: write static func migrate(mutation: SavedValue) throws \
            -> Mutation
            """
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no property of this name.
    public var stateVersion: _Absent? { nil }
}

extension _HookSpelling where _InstanceStateVersion == Int {
    /// The reactor has this near miss.
    @available(
        *, unavailable, message: "stateVersion is static: write static var stateVersion: Int"
    )
    public static var _hookSpelling: Void { () }
}

extension _HookSpelling {
    /// Stands in where the reactor has no method of this shape.
    public func transform(action: _Absent, subject: String) async throws -> _Absent { .init() }
}

extension _HookSpelling where _CertainSubjectTransformArgument == Action {
    /// The reactor has this near miss.
    @available(
        *, unavailable,
        message: """
            transform(action:subject: String) is never called: there may be no subject; write \
            transform(action: Action, subject: String?) -> Action?
            """
    )
    public static var _hookSpelling: Void { () }
}
