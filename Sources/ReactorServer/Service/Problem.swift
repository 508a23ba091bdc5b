internal import JSONCoding
internal import Wire

/// A refusal as the peer sees it: `application/problem+json` (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    package var status: Int
    /// Stable, snake_case, for programs.
    package var code: String
    /// One sentence that names the offending field or header, for people.
    package var detail: String
    /// Further header fields: `Allow`, `Retry-After`, `ETag`.
    package var fields: [(name: String, value: String)] = []

    package init(
        _ status: Int, _ code: String, _ detail: String,
        fields: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = fields
    }

    /// The document: `type`, `title`, `status`, `detail`, `code`.
    package var body: [UInt8] {
        var out: [UInt8] = []
        out.append(contentsOf: "{\"type\":".utf8)
        JSON.appendString("/openapi.yaml#\(code)", to: &out)
        out.append(contentsOf: ",\"title\":".utf8)
        JSON.appendString(StatusLine.reason(status), to: &out)
        out.append(contentsOf: ",\"status\":\(status),\"detail\":".utf8)
        JSON.appendString(detail, to: &out)
        out.append(contentsOf: ",\"code\":".utf8)
        JSON.appendString(code, to: &out)
        out.append(contentsOf: "}\n".utf8)
        return out
    }

    package static func == (one: Problem, other: Problem) -> Bool {
        one.status == other.status && one.code == other.code && one.detail == other.detail
            && one.fields.elementsEqual(other.fields, by: ==)
    }
}
