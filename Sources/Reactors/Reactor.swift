// Design: a reactor is user code and pure. It decides (`mutate`) and changes (`reduce`); its host
// runs it, stores changes and notifies readers (`ReactorHost` in a process, the server's session
// behind HTTP). Both run it on the same machine, `ReactorCore`.

/// A component with a state: it receives actions, and mutations change the state.
///
/// A class or a struct. It need not be `Sendable`: a session makes one instance, does not share it,
/// and never runs two of its methods at once. Its *type* is used from any isolation, so the
/// conformance cannot be isolated to a global actor (`SendableMetatype`).
///
/// ```swift
/// final class AlertReactor: Reactor {
///     enum Action { case alert(String?) }
///     enum Mutation { case setAlertMessage(String?) }
///     struct State { @Pulse var alertMessage: String? }
///
///     let initialState = State()
///
///     func mutate(action: Action) -> Effect<Mutation> {
///         switch action {
///         case .alert(let message): .just(.setAlertMessage(message))
///         }
///     }
///
///     func reduce(state: inout State, mutation: Mutation) {
///         switch mutation {
///         case .setAlertMessage(let message): state.alertMessage = message
///         }
///     }
/// }
/// ```
///
/// The order for one action: `transform(action:)` → `mutate` → for each mutation of the effect
/// `transform(mutation:)` → `reduce` → `transform(state:)` for readers.
public protocol Reactor:
    _MutateSpelling, _MutateResult, _ReduceSpelling, _ReduceResult, _HookSpelling, SendableMetatype
{
    /// The state. Usually a struct.
    override associatedtype State: Sendable

    /// The state of version 0. Read once per session.
    var initialState: State { get }

    /// Returns the effect of an action, in ReactorKit's form.
    ///
    /// Default: `.just(action)` where `Action == Mutation`, else empty. It is called only by the
    /// default of ``mutate(state:action:)``.
    func mutate(action: Action) -> Effect<Mutation>

    /// Returns the effect of an action, given the present state; the recommended form.
    ///
    /// The state is that returned by `reduce`, not by `transform(state:)`. Default: forwards to
    /// ``mutate(action:)``.
    func mutate(state: State, action: Action) -> Effect<Mutation>

    /// Returns the effect of an action, given the present state and the client that has sent it.
    ///
    /// - Parameters:
    ///   - state: The present state.
    ///   - action: The action, as ``transform(action:subject:)`` has returned it.
    ///   - subject: The name of the authenticated client; nil if the host authenticates nobody, and
    ///     for actions that no client has sent: those of ``sources``.
    ///
    /// The session calls only this form. Default: forwards to ``mutate(state:action:)``.
    func mutate(state: State, action: Action, subject: String?) -> Effect<Mutation>

    /// Returns the next state, given the present one, in ReactorKit's form.
    ///
    /// Default: the state unchanged. It is called only by the default of the in-place form.
    func reduce(state: State, mutation: Mutation) -> State

    /// Changes the state in place. Recommended: it can append to an array without copying it.
    ///
    /// Every call is one version, even without a change. The result must depend on the two
    /// arguments only, because a state is rebuilt by reducing recorded mutations again. Default:
    /// forwards to the form that returns the state.
    func reduce(state: inout State, mutation: Mutation)

    /// Rewrites an action before `mutate` receives it; `nil` rejects it.
    ///
    /// Default: the action itself. A thrown ``Refusal`` refuses the action, as
    /// ``ReactorEffect/refuse(_:_:)`` does. Any other error rejects it and is recorded; the session
    /// continues.
    func transform(action: Action) throws -> Action?

    /// Rewrites an action of a client before `mutate` receives it; `nil` rejects it. Throw a
    /// ``Refusal`` to say why, for instance that this client may not do it now.
    ///
    /// - Parameters:
    ///   - action: The action as it was sent.
    ///   - subject: As in ``mutate(state:action:subject:)``.
    ///
    /// The session calls only this form. Default: forwards to ``transform(action:)``.
    func transform(action: Action, subject: String?) throws -> Action?

    /// Rewrites a mutation before `reduce` receives it; `nil` drops it.
    ///
    /// Default: the mutation itself. An error drops only this mutation and is recorded; the rest of
    /// its effect continues.
    func transform(mutation: Mutation) throws -> Mutation?

    /// Decorates the shown state; `reduce` and `mutate` never receive the result.
    ///
    /// Default: the state itself. If it throws, the undecorated state is shown and the failure is
    /// recorded; so do not rely on it to hide secrets in the state.
    func transform(state: State) throws -> State

    /// The external streams of this reactor, merged into the session as mutations or actions.
    ///
    /// Read once per session, when it starts. Default: none.
    var sources: [Source] { get }

    // The requirements below matter where sessions are stored: in a server with a journal in a
    // file.

    /// The version of the saved form of states and mutations.
    ///
    /// Increase it when a change to `State` or `Mutation` makes saved values unreadable or wrong,
    /// and convert the old form in ``migrate(state:)`` and ``migrate(mutation:)``. Default: 1.
    static var stateVersion: Int { get }

    /// Makes a state from one that was saved with an earlier ``stateVersion``.
    ///
    /// Default: decodes it unchanged. An error quarantines the session with its data unchanged,
    /// until a later deployment can read it.
    static func migrate(state saved: SavedValue) throws -> State

    /// Makes a mutation from one that was saved with an earlier ``stateVersion``.
    ///
    /// Default: decodes it unchanged. An error has the same effect as in ``migrate(state:)``.
    static func migrate(mutation saved: SavedValue) throws -> Mutation

    /// How long a session is kept that nobody uses. Then it ends, as by ``ReactorEffect/end``.
    ///
    /// Each action and each change uses the session. It is also in use while it is read, while its
    /// effects or sources run, and while it has timers. It may end a sixteenth of this time and a
    /// few minutes late. Less than a minute counts as a minute. Default: nil. Then the server's
    /// `--session-expiry` applies, which is off by default. In a ``ReactorHost``, sessions do not
    /// expire.
    static var expiresAfter: Duration? { get }

    /// The tags by which lists find the session: `GET /v1/sessions?tag=status:open`.
    ///
    /// Called once for each commit that may have changed the state, with the state that `reduce`
    /// returned. The tags are stored in that commit, if they have changed. If this function
    /// changes, run `journal retag` or increase ``stateVersion``. Default: none, and the function
    /// is never called. In a ``ReactorHost``, there are no lists.
    static func tags(of state: State) -> Tags

    /// Decides about an action whose effects were running when the process ended, or have failed.
    ///
    /// ``Recovery/runAgain(after:)`` with a time applies to both cases, and to each further
    /// failure. ``Recovery/runAgain`` applies only after the end of a process. Default:
    /// ``Recovery/abandon``, which never repeats an effect. Each case is recorded.
    func recovery(of action: Action) -> Recovery

    /// Decides the same, and also knows the number of attempts and the error.
    ///
    /// ```swift
    /// func recovery(of action: Action, after interruption: Interruption) -> Recovery {
    ///     guard interruption.attempts < 8 else { return .abandon }
    ///     return .runAgain(after: .seconds(1 << interruption.attempts))
    /// }
    /// ```
    ///
    /// The session calls only this form, in two cases: all effects of the action have ended and one
    /// of them has failed, or the process ended while they ran. A failure before the first wait of
    /// the first attempt does not count: it is in the answer to the client. If the action runs
    /// again, the session receives it with the state at that time. Default: calls
    /// ``recovery(of:)``. After a failure, it accepts only an answer with a time.
    func recovery(of action: Action, after interruption: Interruption) -> Recovery
}

extension Reactor {
    /// An effect of this reactor: the result of ``mutate(state:action:)``.
    ///
    /// The alias brings the reactor's state, activity and action with it, so that the compiler
    /// checks `.deferred { state in … }`, `.emit(activity)` and `.schedule(…)`.
    public typealias Effect<Change: Sendable> = ReactorEffect<Change, State, Activity, Action>

    /// An external stream for this reactor.
    public typealias Source = ReactorSource<Action, Mutation>
}
