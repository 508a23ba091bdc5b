public import Reactors
internal import Sessions

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
    ///   - make: makes the reactor of one session, on that session's loop.
    public init<R: Reactor>(
        _ name: String, activities: [String] = [], examples: [R.Action] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        make: @escaping @Sendable () -> R
    ) where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        registration = Result { () throws(RegistrationFailure) in
            try Registration(
                name: name, activities: activities, examples: examples, clock: clock, make: make)
        }
    }
}
