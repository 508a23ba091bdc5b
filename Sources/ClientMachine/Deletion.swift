/// The deletion of a session, and what its answers mean (C5).
///
/// A 204 has no body, so it may come from a proxy. The client therefore deletes once more, and the
/// service confirms that the session is gone. Why not a GET: some clients may delete but not read.
package struct Deletion: Sendable {
    package enum Step: Equatable, Sendable {
        case again
        case gone
        case refused(ProblemDetails)
        /// Nobody knows whether the session is deleted. The sentence says why.
        case unknown(String)
    }

    package let request: ClientRequest
    /// The answers of 2xx.
    private var count = 0

    private static let mostAnswers = 3

    package init(of session: SessionName) {
        request = ClientRequest("DELETE", "/v1/sessions/\(session)")
    }

    package mutating func receive(_ response: ClientResponse) -> Step {
        if (200..<300).contains(response.status) {
            count += 1
            guard count == Self.mostAnswers else { return .again }
            return .unknown(
                "the responses are not from the service: it has not said that the session is gone")
        }
        let problem = response.problem
        guard response.isProblem, !problem.code.isEmpty else {
            return .unknown("status \(response.status): this is not an answer of the service")
        }
        guard count > 0 else { return .refused(problem) }
        guard response.refusal(of: .read) != nil else { return .unknown(response.reasonToWait) }
        return .gone
    }
}
