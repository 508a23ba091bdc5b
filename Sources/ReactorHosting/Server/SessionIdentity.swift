public import Cyclers
public import Reactors
public import Sessions

/// The data about a session from which the closure `make` makes the session's reactor.
public struct SessionIdentity<Input: Sendable>: Sendable {
    /// The id of the session, as in its path.
    public let id: String
    /// The input with which the session was created.
    public let input: Input
    /// The subject that created the session; nil if the client was not authenticated.
    public let owner: String?

    @usableFromInline
    init(id: String, input: Input, owner: String?) {
        self.id = id
        self.input = input
        self.owner = owner
    }
}

extension Hosted {
    /// Hosts a reactor that knows its session and the session's input.
    ///
    /// ```swift
    /// Hosted("auction", input: NewAuction.self) { session in
    ///     Auction(id: session.id, lot: session.input.lot)
    /// }
    /// ```
    ///
    /// A client creates a session with `{"reactor":"auction","input":{"lot":"A lamp"}}`. The input
    /// is stored with the creation, and kept as long as the session. `make` gets it each time that
    /// the session wakes, at any node. A fork has the input of its origin.
    ///
    /// - Parameters:
    ///   - name: as for a reactor without an input.
    ///   - input: The type of the input. With an optional type, the input may be missing.
    ///     An input has at most 64 KiB of JSON. One that does not decode is refused with 422
    ///     `not_an_input`. If a stored input no longer decodes, its session is quarantined, as it
    ///     is if its state no longer decodes. So make members optional that you add later.
    ///   - inputExamples: Inputs to show in `GET /v1/reactors`. Default none. At registration,
    ///     `make` is called with the first one. Without examples, an input is made up from the
    ///     type: texts are `example` and numbers 1. If none can be made up, the server does not
    ///     start, and the failure asks for an example.
    ///   - activities: as for a reactor without an input.
    ///   - examples: as for a reactor without an input.
    ///   - clock: as for a reactor without an input.
    ///   - make: Makes the reactor of one session, on that session's loop. At registration, it
    ///     makes a reactor to examine; then the id is `example`. The topics of the reactor's
    ///     sources must not depend on the session.
    @inlinable
    public init<R: Reactor, Input: Codable & Sendable>(
        _ name: String, input: Input.Type, inputExamples: [Input] = [],
        activities: [String] = [], examples: [R.Action] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        make: @escaping @Sendable (SessionIdentity<Input>) -> R
    ) where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        self.init(
            Result { () throws(RegistrationFailure) in
                try Registration(
                    name: name, activities: activities, examples: examples, clock: clock,
                    make: SessionMaker(name, input: input, examples: inputExamples) {
                        make(SessionIdentity(id: $0, input: $2, owner: $1))
                    })
            })
    }

    /// Hosts a reactor that knows its session, and needs no input.
    ///
    /// The parameters are those of a reactor with an input.
    @inlinable
    public init<R: Reactor>(
        _ name: String, activities: [String] = [], examples: [R.Action] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        make: @escaping @Sendable (SessionIdentity<Void>) -> R
    ) where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        self.init(
            Result { () throws(RegistrationFailure) in
                try Registration(
                    name: name, activities: activities, examples: examples, clock: clock,
                    make: SessionMaker { make(SessionIdentity(id: $0, input: (), owner: $1)) })
            })
    }

    /// Hosts a Cycler that knows its session and the session's input.
    ///
    /// The parameters are those of a reactor with an input.
    public init<C: ActionCycler & SendableMetatype, Input: Codable & Sendable>(
        _ name: String, input: Input.Type, inputExamples: [Input] = [],
        activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable (SessionIdentity<Input>) -> C
    ) where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        registration = Result { () throws(RegistrationFailure) in
            try Registration(
                name: name, activities: activities, examples: examples,
                makeCycler: SessionMaker(name, input: input, examples: inputExamples) {
                    make(SessionIdentity(id: $0, input: $2, owner: $1))
                })
        }
    }

    /// Hosts a Cycler that is a part of another one, and knows its session and the session's input.
    ///
    /// The parameters are those of a reactor with an input.
    public init<C: ActionCycler & ModularCycler & SendableMetatype, Input: Codable & Sendable>(
        _ name: String, input: Input.Type, inputExamples: [Input] = [],
        activities: [String] = [], examples: [C.Action] = [],
        make: @escaping @Sendable (SessionIdentity<Input>) -> C
    )
    where
        C.Action: Codable, C.State: Codable, C.Activity: Codable,
        C.Parent: ActionCycler & SendableMetatype, C.Parent.Action: Codable,
        C.Parent.State: Codable, C.Parent.Activity: Codable
    {
        registration = Result { () throws(RegistrationFailure) in
            try Registration(
                name: name, activities: activities, examples: examples,
                makePart: SessionMaker(name, input: input, examples: inputExamples) {
                    make(SessionIdentity(id: $0, input: $2, owner: $1))
                })
        }
    }
}
