internal import JSONCoding

/// An event of a remote session: either how it stands, or something that has happened.
public enum RemoteEvent<State: Sendable, Activity: Sendable>: Sendable {
    /// How the session stands, not that something has happened. A state that was read beside the
    /// stream can be ahead of the events that follow.
    case present(State, Position)
    /// The events that follow do not continue those before, for the server's reason, such as
    /// `trimmed`; ``present(_:_:)`` follows.
    case reset(reason: String)
    /// A version.
    case state(State, Position)
    /// An assignment of a pulse.
    case pulse(RemotePulse)
    /// An activity.
    case activity(Activity, Position)
    /// No more events follow.
    case ended(EndReason)
}

/// An assignment of a pulse.
public struct RemotePulse: Sendable, Hashable {
    /// The name of the pulse, as in ``HostedReactor/pulses``.
    public let name: String
    /// The position after it.
    public let position: Position
    /// JSON.
    let data: [UInt8]

    /// The assigned value.
    ///
    /// - Throws: `undecodable` if it is not a `Value`.
    public func value<Value: Decodable>(
        as type: Value.Type = Value.self
    ) throws(ClientFailure) -> Value {
        do {
            return try JSON.decode(type, from: data)
        } catch {
            throw .undecodable("the pulse \(name): \(error.sentence)")
        }
    }
}
