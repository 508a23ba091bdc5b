public import Cyclers
public import Reactors
public import Sessions

/// A reactor that a server hosts: its name, and how to make one for each session.
///
/// ```swift
/// Hosted("alerts") { Alerts() }
/// ```
///
/// Its types travel as JSON: actions come in, states, pulses and activities go out, and mutations
/// are what the journal keeps; so all four are `Codable`. An enum that conforms to
/// `TaggedCodable` travels as `{"type":"alert","message":"Hello"}`.
///
/// Every `@Pulse` of the state that is declared in the state itself becomes an event of its name.
/// The names `snapshot reset state end ping problem message open error` are the service's own;
/// a pulse or an activity of such a name, a pulse whose value is not `Encodable`, two of one name,
/// and more than 64 pulses are refused when the server starts, all at once.
public struct Hosted: Sendable {
    let registration: Result<Registration, RegistrationFailure>

    /// Hosts a reactor.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 of `A-Z a-z 0-9 - _`; the `reactor` of `POST /v1/sessions`.
    ///   - activities: the names of its activities, for `GET /v1/reactors`: an activity's event
    ///     is named after its case. Default none.
    ///   - examples: actions to show in `GET /v1/reactors`. Default none.
    ///   - clock: what its effects wait on. Default the continuous clock.
    ///   - make: makes the reactor of one session, on that session's loop. Also called once when it
    ///     is hosted, to look at the initial state, and with `--admin on` once more at the start, to
    ///     learn which topics the sources listen to.
    @inlinable
    public init<R: Reactor>(
        _ name: String, activities: [String] = [], examples: [R.Action] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        make: @escaping @Sendable () -> R
    ) where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        self.init(
            Result { () throws(RegistrationFailure) in
                try Registration(
                    name: name, activities: activities, examples: examples, clock: clock,
                    make: make)
            })
    }

    /// The compiler's message where one of the four types cannot travel.
    @available(
        *, unavailable,
        message: "Action, Mutation, State and Activity of a hosted reactor must be Codable"
    )
    public init<R: Reactor>(
        _ name: String, activities: [String] = [], examples: [R.Action] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        make: @escaping @Sendable () -> R
    ) {
        preconditionFailure("it is unavailable")
    }

    @usableFromInline
    init(_ registration: Result<Registration, RegistrationFailure>) {
        self.registration = registration
    }

    /// Hosts a Cycler.
    ///
    /// Every commit is a version, and the record of it is the whole state. What an action does
    /// before it first waits is applied when it is answered; the rest runs like an effect: after
    /// each wait it continues when what it has committed before is in the journal. An action that
    /// fails before it first waits is refused with 422, or in a batch told as rejected, and changes
    /// nothing.
    ///
    /// - Parameters:
    ///   - name: as for a reactor.
    ///   - activities: as for a reactor.
    ///   - examples: as for a reactor.
    ///   - make: makes the Cycler of one session, on that session's loop; also called once when it is
    ///     hosted, to look at the initial state. Another one takes its
    ///     place, with the state that is committed, when a session comes back from the journal,
    ///     and when a commit fails while an action waits.
    public init<C: ActionCycler & SendableMetatype>(
        _ name: String, activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable () -> C
    ) where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        registration = Result { () throws(RegistrationFailure) in
            try Registration(
                name: name, activities: activities, examples: examples, makeCycler: make)
        }
    }

    /// The compiler's message where one of the three types cannot travel.
    @available(
        *, unavailable, message: "Action, State and Activity of a hosted Cycler must be Codable"
    )
    public init<C: ActionCycler>(
        _ name: String, activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable () -> C
    ) {
        preconditionFailure("it is unavailable")
    }

    /// Hosts a Cycler that is a part of another.
    ///
    /// The id of a part's session says whose part it is: `table-1--row-7` is one of `table-1`. What
    /// it forwards is carried out by that session, as if it had been posted there. An action that
    /// forwards where there is no parent is refused with 409 if the id names none; where the
    /// session that it names is gone, it fails like an effect.
    ///
    /// The parameters are those of any Cycler.
    public init<C: ActionCycler & ModularCycler & SendableMetatype>(
        _ name: String, activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable () -> C
    )
    where
        C.Action: Codable, C.State: Codable, C.Activity: Codable,
        C.Parent: ActionCycler & SendableMetatype, C.Parent.Action: Codable,
        C.Parent.State: Codable, C.Parent.Activity: Codable
    {
        registration = Result { () throws(RegistrationFailure) in
            try Registration(
                name: name, activities: activities, examples: examples, makePart: make)
        }
    }
}
