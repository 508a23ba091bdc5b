internal import ClientMachine

/// A refusal, in the server's words (RFC 9457).
public struct ProblemDetails: Error, Hashable, Sendable {
    /// The status of the response.
    public let status: Int
    /// The server's name of the problem, such as `not_an_action`; empty if the response is not the
    /// service's own, such as one of a proxy.
    public let code: String
    /// A sentence for people.
    public let detail: String

    /// Makes a problem, for tests of a program.
    public init(status: Int, code: String, detail: String) {
        self.status = status
        self.code = code
        self.detail = detail
    }

    init(_ problem: MachineProblem) {
        self.init(status: problem.status, code: problem.code, detail: problem.detail)
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// `404 unknown_session: there is no session room-7`.
    public var description: String {
        code.isEmpty ? "\(status): \(detail)" : "\(status) \(code): \(detail)"
    }
}
