public import Cyclers
public import Reactors
public import Sessions

/// A session, as the closure that makes its reactor knows it.
public struct SessionIdentity<Input: Sendable>: Sendable {
    /// The session's id, the one in its path.
    public let id: String
    /// The input with which it was created.
    public let input: Input
    /// The subject that has created it; nil if the client was not authenticated.
    public let owner: String?

    @usableFromInline
    init(id: String, input: Input, owner: String?) {
        self.id = id
        self.input = input
        self.owner = owner
    }
}

extension Hosted {
    /// Hosts a reactor that knows its session and what the session was created with.
    ///
    /// ```swift
    /// Hosted("auction", input: NewAuction.self) { session in
    ///     Auction(id: session.id, lot: session.input.lot)
    /// }
    /// ```
    ///
    /// A client creates a session with `{"reactor":"auction","input":{"lot":"A lamp"}}`. The input
    /// is stored with the creation, kept as long as the session, and given to `make` each time that
    /// the session wakes, at any node. A fork has the input of its origin.
    ///
    /// - Parameters:
    ///   - name: as for a reactor without an input.
    ///   - input: The type of the input. With an optional type, the input may be missing.
    ///     An input has at most 64 KiB of JSON. One that does not decode is refused with 422
    ///     `not_an_input`. A session whose stored input does not decode any more is quarantined,
    ///     like one whose state does not: add members as optional ones.
    ///   - inputExamples: Inputs to show in `GET /v1/reactors`. Default none. `make` is called
    ///     with the first one at registration, or else with an input that is made up from the type:
    ///     texts are `example` and numbers 1. If none can be made up, the server does not start,
    ///     and says so.
    ///   - activities: as for a reactor without an input.
    ///   - examples: as for a reactor without an input.
    ///   - clock: as for a reactor without an input.
    ///   - make: Makes the reactor of one session, on that session's loop. For the examination at
    ///     registration, the session's id is `example`. The topics of the reactor's sources must
    ///     not depend on the session.
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

    /// Hosts a Cycler that knows its session and what the session was created with.
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

    /// Hosts a Cycler that is a part of another one, and knows its session and what the session was
    /// created with.
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
