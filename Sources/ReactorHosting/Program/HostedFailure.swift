internal import JSONCoding
internal import Wire

/// Why a request of the program to one of its own sessions was not carried out.
///
/// Each case has one sentence for people, which is also the description. If a reactor refuses an
/// action, that is not a failure: ``HostedSession/send(_:key:subject:)`` returns the refusal.
public enum HostedFailure: Error, Hashable, Sendable {
    /// No session has the id.
    case unknownSession(String)
    /// The session was deleted. Its id is not used again.
    case ended(String)
    /// This version of the program cannot rebuild the session. The session's data is kept.
    case quarantined(String)
    /// The session has another reactor, which the sentence names.
    case otherReactor(String)
    /// The session was created with another input, or without one.
    case otherInput(String)
    /// The server is shutting down. Nothing was applied.
    case draining(String)
    /// The key was used before, with another action.
    case keyReused(String)
    /// The request itself is wrong, so it will be refused again. For example, the id or the key is
    /// invalid, a value cannot be encoded as JSON, or the state would exceed its limit. Nothing was
    /// applied.
    ///
    /// - Parameter code: The code that the problem has over HTTP. openapi.yaml lists the codes.
    case invalid(code: String, String)
    /// Nothing was applied, but a later attempt may succeed. The journal is full or does not
    /// answer, the session's node cannot be reached, too many requests are under way, or one with
    /// the same key is.
    ///
    /// - Parameter code: The code that the problem has over HTTP. openapi.yaml lists the codes.
    case unavailable(code: String, String)
    /// The request was applied once or not at all. To find out, send it again with the same key.
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

    /// - Parameter answer: An answer that is not a success.
    init(_ answer: LinkAnswer) {
        self.init(
            Int(answer.status), answer.code, ProblemReading(answer.body)?.detail ?? answer.code)
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
    let status: Int
    let code: String
    let detail: String
    /// The refusal of the reactor, if it has refused the action.
    let refusal: Reason?
    /// The part of the body that is at fault, if there is one.
    let pointer: String?

    struct Reason: Decodable {
        let code: String
    }

    /// Nil if the body of a response is no such document.
    init?(_ body: [UInt8]) {
        do {
            self = try JSON.decode(Self.self, from: body)
        } catch {
            return nil
        }
    }
}
