public import Cyclers
public import Reactors
public import Sessions

/// A reactor that a server hosts: its name, and a closure that makes one for each session.
///
/// ```swift
/// Hosted("alerts") { Alerts() }
/// ```
///
/// Its types are encoded as JSON: actions are received, states, pulses and activities are sent, and
/// the journal stores mutations; so all four are `Codable`. An enum that conforms to
/// `TaggedCodable` is encoded as `{"type":"alert","message":"Hello"}`.
///
/// Every `@Pulse` that is declared in the state itself becomes an event of its name. The names
/// `snapshot reset state end ping problem message open error patch receipt mutation cause log` are
/// reserved for the service. A pulse or an activity with such a name, a pulse whose value is not
/// `Encodable`, a pulse inside another value of the state, two with one name, and more than 64
/// pulses are refused when the server starts, all at once.
public struct Hosted: Sendable {
    let registration: Result<Registration, RegistrationFailure>

    /// Hosts a reactor.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 of `A-Z a-z 0-9 - _`; the `reactor` of `POST /v1/sessions`.
    ///   - activities: The names of its activities, for `GET /v1/reactors`: an activity's event is
    ///     named after its case. Default none.
    ///   - examples: actions to show in `GET /v1/reactors`; one for each case, because the
    ///     schema of the actions is found by decoding them. Default none: then it is found by
    ///     their type alone.
    ///   - clock: The clock on which its effects wait. Default the continuous clock.
    ///   - make: Makes the reactor of one session, on that session's loop. Also called once at
    ///     registration to examine the initial state, and with `--admin on` again at the start to
    ///     determine the topics of its sources.
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

    /// The compiler's message if one of the four types cannot be encoded or decoded.
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
    /// Every commit is a version, and its record is the whole state. The part of an action before
    /// its first suspension is applied before the response; the rest runs like an effect: after
    /// each suspension it resumes when its earlier commits are in the journal. An action that
    /// throws before its first suspension is refused with 422, or reported as rejected within a
    /// batch, and changes nothing.
    ///
    /// - Parameters:
    ///   - name: as for a reactor.
    ///   - activities: as for a reactor.
    ///   - examples: as for a reactor.
    ///   - make: Makes the Cycler of one session, on that session's loop; also called once at
    ///     registration to examine the initial state. It is called again, to replace the Cycler
    ///     with the committed state, when a session is loaded from the journal, and when a commit
    ///     fails while an action is suspended.
    public init<C: ActionCycler & SendableMetatype>(
        _ name: String, activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable () -> C
    ) where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        registration = Result { () throws(RegistrationFailure) in
            try Registration(
                name: name, activities: activities, examples: examples, makeCycler: make)
        }
    }

    /// The compiler's message if one of the three types cannot be encoded or decoded.
    @available(
        *, unavailable, message: "Action, State and Activity of a hosted Cycler must be Codable"
    )
    public init<C: ActionCycler>(
        _ name: String, activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable () -> C
    ) {
        preconditionFailure("it is unavailable")
    }

    /// Hosts a Cycler that is a part of another one.
    ///
    /// The id of a part's session contains its parent's id: `table-1--row-7` is a part of
    /// `table-1`. The parent's session runs forwarded actions as if they had been posted there. An
    /// action that forwards without a parent is refused with 409 if the id names none; if the named
    /// session does not exist any more, the action fails like an effect. In a cluster the two may
    /// be at different nodes; the action has the error that `forward` throws then.
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
