internal import ClientMachine
public import Reactors

/// A refusal, in the server's words (RFC 9457).
public struct ProblemDetails: Error, Hashable, Sendable {
    /// The status of the response.
    public let status: Int
    /// The server's name of the problem, such as `not_an_action`; empty if the response is not the
    /// service's own, such as one of a proxy.
    public let code: String
    /// A sentence for people.
    public let detail: String
    /// The reactor's own refusal, if the code is `action_refused`; nil otherwise.
    public let refusal: Refusal?

    /// Makes a problem, for tests of a program.
    public init(status: Int, code: String, detail: String, refusal: Refusal? = nil) {
        self.status = status
        self.code = code
        self.detail = detail
        self.refusal = refusal
    }

    init(_ problem: MachineProblem) {
        self.init(
            status: problem.status, code: problem.code, detail: problem.detail,
            refusal: problem.refusal.map { Refusal($0, problem.detail) })
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// `404 unknown_session: there is no session room-7`; of a refusal
    /// `422 action_refused: bid_too_low: The highest bid is 12.`
    public var description: String {
        let detail = refusal?.description ?? detail
        return code.isEmpty ? "\(status): \(detail)" : "\(status) \(code): \(detail)"
    }
}
