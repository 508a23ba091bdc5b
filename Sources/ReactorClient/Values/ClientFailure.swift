/// The reason why a client cannot do something that is no send.
public enum ClientFailure: Error, Hashable, Sendable {
    /// The address of the server is none. The sentence names the fault.
    case badAddress(String)
    /// The id of a session is not 1 to 128 of `A-Z a-z 0-9 _ -`.
    case badSessionID(String)
    /// The server refuses it.
    case refused(ProblemDetails)
    /// There is no answer. Whether the server has done it is unknown.
    case unreachable(String)
    /// The answer is not what a server of this kind sends, or does not have the types of
    /// this program.
    case undecodable(String)
    /// The session has ended.
    case ended(EndReason)
    /// This client follows the session with other types, or with another prediction.
    case followedOtherwise(String)
    /// The outbox cannot be opened.
    case outboxUnavailable(String)
    /// The system has no resources for a client.
    case exhausted(String)
    /// The client is closed.
    case closed
}

extension ClientFailure: CustomStringConvertible {
    /// A sentence for people.
    public var description: String {
        switch self {
        case .badAddress(let sentence), .exhausted(let sentence): sentence
        case .badSessionID(let id):
            "\"\(id)\" is not a session id: an id has 1 to 128 of A-Z a-z 0-9 _ -"
        case .refused(let problem): "the server refused the request: \(problem)"
        case .unreachable(let reason): "the server does not answer: \(reason)"
        case .undecodable(let reason): "the answer cannot be decoded: \(reason)"
        case .ended(let reason): "the session has ended: \(reason)"
        case .followedOtherwise(let id):
            "this client follows \(id) with other types or another prediction; leave it first"
        case .outboxUnavailable(let reason): "the outbox cannot be opened: \(reason)"
        case .closed: "the client is closed"
        }
    }
}
