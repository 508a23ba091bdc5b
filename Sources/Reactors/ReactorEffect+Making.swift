// RxSwift's names, for what RxSwift's users know; `run`, `cancel` and `emit` have none there.

extension ReactorEffect {
    /// One mutation.
    @inlinable
    public static func just(_ mutation: Mutation) -> ReactorEffect {
        ReactorEffect(.just(mutation))
    }

    /// Nothing.
    @inlinable
    public static func empty() -> ReactorEffect { ReactorEffect(.none) }

    /// Nothing: a shorter way to write ``empty()``.
    @inlinable
    public static var none: ReactorEffect { ReactorEffect(.none) }

    /// Some mutations, one after the other.
    @inlinable
    public static func of(_ mutations: Mutation...) -> ReactorEffect {
        ReactorEffect(.several(mutations))
    }

    /// The mutations of a sequence, which is read to its end at once.
    @inlinable
    public static func from(_ mutations: some Sequence<Mutation>) -> ReactorEffect {
        ReactorEffect(.several(Array(mutations)))
    }

    /// Ends with an error: the rest of the `.concat`s around it does not happen, what was applied
    /// stays, the steps beside it in a `.merge` continue. The session lives and records the failure.
    public static func error(_ error: any Error) -> ReactorEffect {
        ReactorEffect(part: .error(error))
    }

    /// Emits an activity.
    public static func emit(_ activity: Activity) -> ReactorEffect {
        ReactorEffect(leaf: .emit(activity))
    }

    /// Decides when its turn has come, from the state as it is then.
    ///
    /// The state is the one that `reduce` made. An error that the closure throws is as ``error(_:)``.
    public static func deferred(
        _ effect: @escaping (State) throws -> ReactorEffect
    ) -> ReactorEffect {
        ReactorEffect(leaf: .deferred(effect))
    }

    /// An asynchronous step: runs in a task of its own and sends what it has through its sink.
    ///
    /// It ends when the closure returns; an error is as ``error(_:)``.
    public static func run(
        _ work: @escaping @Sendable (Sink<Mutation, Activity>) async throws -> Void
    ) -> ReactorEffect {
        ReactorEffect(leaf: .run(.init(id: nil, policy: .merge, work: work)))
    }

    /// An asynchronous step with an id, by which it can be cancelled.
    ///
    /// - Parameters:
    ///   - id: names the step within the session.
    ///   - policy: what happens when one with this id runs already. Default: both run.
    ///   - work: see ``run(_:)``. Its task is cancelled when the step is.
    public static func run(
        id: EffectID,
        policy: EffectPolicy = .merge,
        _ work: @escaping @Sendable (Sink<Mutation, Activity>) async throws -> Void
    ) -> ReactorEffect {
        ReactorEffect(leaf: .run(.init(id: id, policy: policy, work: work)))
    }

    /// Cancels the session's steps with this id, those that have not begun as well.
    ///
    /// A cancelled step ends only itself: what follows it in its `.concat` still happens, after
    /// the present turn. Steps that come after this one in its own `.concat`s and `.merge`s are
    /// not reached, so `.concat(.cancel("x"), .run(id: "x") { … })` starts anew.
    public static func cancel(_ id: EffectID) -> ReactorEffect {
        ReactorEffect(part: .cancel(id))
    }
}
