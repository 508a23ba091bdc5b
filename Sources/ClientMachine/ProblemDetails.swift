internal import JSONCoding

/// A refusal, in the server's words (RFC 9457).
package struct ProblemDetails: Sendable, Hashable, Codable {
    package var status: Int
    /// The server's name of the problem, such as `not_an_action`; empty if the response is not the
    /// service's own, such as one of a proxy.
    package var code: String
    package var detail: String
    /// The reactor's code, if it refuses the action; `detail` is its sentence.
    package var refusal: String?

    package init(status: Int, code: String, detail: String, refusal: String? = nil) {
        self.status = status
        self.code = code
        self.detail = detail
        self.refusal = refusal
    }

    /// Reads the body of a response; a body of another form gives a problem without a code.
    package init(status: Int, body: [UInt8]) {
        let members = try? JSON.decode(Members.self, from: body)
        self.init(
            status: status, code: members?.code ?? "",
            detail: members?.detail ?? members?.title ?? "the response has status \(status)",
            refusal: members?.refusal?.code)
    }

    private struct Members: Decodable {
        let title: String?
        let detail: String?
        let code: String?
        let refusal: Reason?

        struct Reason: Decodable {
            let code: String
        }
    }
}
