internal import JSONCoding
internal import Wire

/// Why a request of the program to one of its own sessions was not carried out.
///
/// Each case has one sentence for people, which is also the description. A reactor's own refusal of
/// an action is no failure: ``HostedSession/send(_:key:subject:)`` returns it.
public enum HostedFailure: Error, Hashable, Sendable {
    /// No session has the id.
    case unknownSession(String)
    /// The session was deleted. Its id is not used again.
    case ended(String)
    /// The present program cannot rebuild the session. Its data is kept.
    case quarantined(String)
    /// The session has another reactor, which the sentence names.
    case otherReactor(String)
    /// The session was created with another input, or without one.
    case otherInput(String)
    /// The server ends. Nothing was applied.
    case draining(String)
    /// The key was used before, with another action.
    case keyReused(String)
    /// The request itself is wrong, so it will be refused again: an id or a key that is none, a
    /// value without JSON, a state that would exceed its limit. Nothing was applied.
    ///
    /// - Parameter code: That of the problem over HTTP, as openapi.yaml lists them.
    case invalid(code: String, String)
    /// Nothing was applied, and later it may be: the journal is full or does not answer, the
    /// session's node cannot be reached, too much is under way, or the same key is being carried
    /// out.
    ///
    /// - Parameter code: That of the problem over HTTP, as openapi.yaml lists them.
    case unavailable(code: String, String)
    /// Applied once or not at all. The same request with the same key finds out.
    case outcomeUnknown(String)
}

extension HostedFailure: CustomStringConvertible {
    /// The sentence.
    public var description: String {
        switch self {
        case .unknownSession(let sentence), .ended(let sentence), .quarantined(let sentence),
            .otherReactor(let sentence), .otherInput(let sentence), .draining(let sentence),
            .keyReused(let sentence), .invalid(_, let sentence), .unavailable(_, let sentence),
            .outcomeUnknown(let sentence):
            sentence
        }
    }
}

extension HostedFailure {
    init(_ problem: Problem) { self.init(problem.status, problem.code, problem.detail) }

    /// - Parameter answer: Not a success.
    init(_ answer: LinkAnswer) {
        self.init(Int(answer.status), answer.code, ProblemReading(answer)?.detail ?? answer.code)
    }

    private init(_ status: Int, _ code: String, _ detail: String) {
        self =
            switch code {
            case "unknown_session": .unknownSession(detail)
            case "session_ended": .ended(detail)
            case "session_quarantined": .quarantined(detail)
            case "other_reactor": .otherReactor(detail)
            case "other_input": .otherInput(detail)
            case "draining": .draining(detail)
            case "key_reused": .keyReused(detail)
            case "outcome_unknown": .outcomeUnknown(detail)
            case "request_running": .unavailable(code: code, detail)
            default:
                status < 500
                    ? .invalid(code: code, detail) : .unavailable(code: code, detail)
            }
    }
}

/// The parts of a problem's document that the program needs.
struct ProblemReading: Decodable {
    let detail: String
    /// Of a reactor.
    let refusal: Reason?

    struct Reason: Decodable {
        let code: String
    }

    /// Nil for an answer without such a document.
    init?(_ answer: LinkAnswer) {
        do {
            self = try JSON.decode(Self.self, from: answer.body)
        } catch {
            return nil
        }
    }
}
