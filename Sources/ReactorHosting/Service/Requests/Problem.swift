internal import JSONCoding
internal import Reactors
internal import Wire

/// The document of a refusal: `application/problem+json` (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    package var status: Int
    /// A stable name for programs, in snake_case.
    package var code: String
    /// One sentence that names the offending field or header, for people. It may quote input; if it
    /// exceeds ``detailLimit`` bytes, its middle is left out.
    package var detail: String {
        didSet { detail = Self.shortened(detail) }
    }
    /// Further header fields: `Allow`, `Retry-After`, `ETag`.
    package var fields: [(name: String, value: String)] = []
    /// The reactor's own code, if it refuses an action.
    private(set) var refusal: String?
    /// A JSON pointer to the part of the body that is at fault; nil if there is no such part.
    var pointer: String?

    package init(
        _ status: Int, _ code: String, _ detail: String,
        fields: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.code = code
        self.detail = Self.shortened(detail)
        self.fields = fields
    }

    /// - Parameter index: the index of the refused action, if it is part of a batch.
    init(_ refusal: Refusal, at index: Int?) {
        status = 422
        code = "action_refused"
        // Not shortened here: the reactor's sentence has a limit of its own.
        detail = refusal.detail
        self.refusal = refusal.code
        pointer = index.map { "/\($0)" }
    }

    /// A problem that passes: the client may send the request again.
    package init(
        temporary status: Int, _ code: String, _ detail: String, retryAfter seconds: Int = 1
    ) {
        self.init(status, code, detail, fields: [("Retry-After", "\(seconds)")])
    }

    /// The maximum number of bytes of a detail: quoted input may be a megabyte long.
    package static let detailLimit = 512

    static func shortened(_ detail: String) -> String {
        let bytes = detail.utf8
        guard bytes.count > detailLimit else { return detail }
        // Two thirds are from the beginning. Incomplete characters at the cut are removed.
        let start = String(decoding: bytes.prefix(detailLimit * 2 / 3), as: UTF8.self)
        let end = String(decoding: bytes.suffix(detailLimit / 3 - 8), as: UTF8.self)
        let isPart: (Character) -> Bool = { $0 == "\u{FFFD}" }
        return String(start.trimmed(while: isPart)) + " … " + String(end.trimmed(while: isPart))
    }

    /// The document: `type`, `title`, `status`, `detail` and `code`; `refusal` and `pointer` if
    /// they are set; and a line break.
    package var body: [UInt8] { JSON.line(ProblemDocument(self)) }

    package static func == (one: Problem, other: Problem) -> Bool {
        one.status == other.status && one.code == other.code && one.detail == other.detail
            && one.refusal == other.refusal && one.pointer == other.pointer
            && one.fields.elementsEqual(other.fields, by: ==)
    }
}

/// RFC 9457 §3.1.
private struct ProblemDocument: Encodable {
    let type: String
    let title: String
    let status: Int
    let detail: String
    let code: String
    let refusal: Reason?
    let pointer: String?

    struct Reason: Encodable {
        let code: String
    }

    init(_ problem: Problem) {
        type = "/openapi.yaml#\(problem.code)"
        title = StatusLine.reason(problem.status)
        status = problem.status
        detail = problem.detail
        code = problem.code
        refusal = problem.refusal.map(Reason.init)
        pointer = problem.pointer
    }
}
