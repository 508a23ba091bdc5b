// The names are RxSwift's, except `run`, `cancel`, `schedule` and `emit`, which RxSwift lacks.

extension ReactorEffect {
    /// An effect of one mutation.
    @inlinable
    public static func just(_ mutation: Mutation) -> ReactorEffect {
        ReactorEffect(.just(mutation))
    }

    /// An effect without mutations.
    @inlinable
    public static func empty() -> ReactorEffect { ReactorEffect(.none) }

    /// An effect without mutations: a shorter form of ``empty()``.
    @inlinable
    public static var none: ReactorEffect { ReactorEffect(.none) }

    /// An effect of several mutations, in order.
    @inlinable
    public static func of(_ mutations: Mutation...) -> ReactorEffect {
        ReactorEffect(.several(mutations))
    }

    /// An effect of the mutations in a sequence, which is read to its end at once.
    @inlinable
    public static func from(_ mutations: some Sequence<Mutation>) -> ReactorEffect {
        ReactorEffect(.several(Array(mutations)))
    }

    /// Ends with an error: the rest of the surrounding `.concat`s does not run, applied mutations
    /// stay, other steps of a `.merge` continue. The session continues and records the failure. A
    /// ``Refusal`` is different: see ``refuse(_:_:)``.
    public static func error(_ error: any Error) -> ReactorEffect {
        ReactorEffect(part: .error(error))
    }

    /// Refuses the action: nothing of it happens, and it leaves no trace.
    ///
    /// ```swift
    /// case .bid(let amount) where amount <= state.highest:
    ///     .refuse("bid_too_low", "The highest bid is \(state.highest).")
    /// ```
    ///
    /// The action's earlier mutations and activities are rolled back, and none of its steps begins.
    /// The client gets the refusal; over HTTP this is 422 `action_refused`. After the action's
    /// first wait the client already has its answer, so a refusal is an error like any other.
    ///
    /// The same as `.error(Refusal(code, detail))`.
    ///
    /// - Parameters:
    ///   - code: For programs: 1 to 64 of `a-z 0-9 _`; see ``Refusal/init(_:_:)``.
    ///   - detail: For people; cut after 1 KiB.
    public static func refuse(_ code: String, _ detail: String) -> ReactorEffect {
        .error(Refusal(code, detail))
    }

    /// Ends the session, in the commit of this part.
    ///
    /// ```swift
    /// case .close: .concat(.just(.closed), .end)
    /// ```
    ///
    /// The client gets its answer as usual. Then the session has ended, as after
    /// ``ReactorHost/end()`` or a DELETE: readers get their last events and the end, running steps
    /// are cancelled, and later actions are not carried out. Later parts of the effect do not run.
    /// Steps that earlier parts have started in the same commit do not begin. If the action is
    /// refused, the end is rolled back with everything else.
    public static var end: ReactorEffect { ReactorEffect(part: .end) }

    /// Emits an activity.
    public static func emit(_ activity: Activity) -> ReactorEffect {
        ReactorEffect(leaf: .emit(activity))
    }

    /// Makes an effect when its turn comes, from the state at that time.
    ///
    /// The state is that of `reduce`. An error of the closure is like ``error(_:)``.
    public static func deferred(
        _ effect: @escaping (State) throws -> ReactorEffect
    ) -> ReactorEffect {
        ReactorEffect(leaf: .deferred(effect))
    }

    /// An asynchronous step: runs in a task and sends mutations through its sink.
    ///
    /// It ends when the closure returns; an error is like ``error(_:)``.
    public static func run(
        _ work: @escaping @Sendable (Sink<Mutation, Activity>) async throws -> Void
    ) -> ReactorEffect {
        ReactorEffect(leaf: .run(.init(id: nil, policy: .merge, work: work)))
    }

    /// An asynchronous step with an id, by which it can be cancelled.
    ///
    /// - Parameters:
    ///   - id: names the step within the session.
    ///   - policy: the rule if a step with this id is running already. Default: both run.
    ///   - work: see ``run(_:)``. Its task is cancelled with the step.
    public static func run(
        id: EffectID,
        policy: EffectPolicy = .merge,
        _ work: @escaping @Sendable (Sink<Mutation, Activity>) async throws -> Void
    ) -> ReactorEffect {
        ReactorEffect(leaf: .run(.init(id: id, policy: policy, work: work)))
    }

    /// Cancels the session's steps with this id, including those that have not begun, and its timer
    /// of this name.
    ///
    /// Only the cancelled step ends: later parts of its `.concat` still run, after the current
    /// turn. Steps after this one in its own `.concat`s and `.merge`s are not affected, so
    /// `.concat(.cancel("x"), .run(id: "x") { … })` starts a new step.
    public static func cancel(_ id: EffectID) -> ReactorEffect {
        ReactorEffect(part: .cancel(id))
    }
}
