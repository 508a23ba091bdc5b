/// Status lines (RFC 9112 §4).
///
/// The version is HTTP/1.1 for every request: RFC 9110 §6.2, it declares the sender's capability.
package enum StatusLine {
    /// The line of 200, the status of nearly every response, prepared in advance.
    private static let success: [UInt8] = Array("HTTP/1.1 200 OK\r\n".utf8)

    static func append(_ status: Int, to out: inout [UInt8]) {
        precondition((100...999).contains(status), "A status has three digits.")
        if status == 200 {
            out.append(contentsOf: success)
            return
        }
        out.append(contentsOf: "HTTP/1.1 ".utf8)
        Decimal.appendDigits(UInt64(status), count: 3, to: &out)
        // RFC 9112 §4: the space is required even without a reason.
        out.append(0x20)
        out.append(contentsOf: reason(status).utf8)
        out.append(0x0d)
        out.append(0x0a)
    }

    /// The statuses of the service, with their registered phrases (RFC 9110 §15, RFC 6585,
    /// RFC 4918).
    package static let reasons: [(status: Int, reason: String)] = [
        (200, "OK"), (201, "Created"), (202, "Accepted"), (204, "No Content"),
        (304, "Not Modified"), (400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"),
        (404, "Not Found"), (405, "Method Not Allowed"), (406, "Not Acceptable"),
        (408, "Request Timeout"), (409, "Conflict"), (410, "Gone"), (411, "Length Required"),
        (412, "Precondition Failed"), (413, "Content Too Large"), (414, "URI Too Long"),
        (415, "Unsupported Media Type"), (417, "Expectation Failed"), (421, "Misdirected Request"),
        (422, "Unprocessable Content"), (428, "Precondition Required"), (429, "Too Many Requests"),
        (431, "Request Header Fields Too Large"), (500, "Internal Server Error"),
        (501, "Not Implemented"), (503, "Service Unavailable"), (504, "Gateway Timeout"),
        (505, "HTTP Version Not Supported"), (507, "Insufficient Storage"),
    ]

    /// The registered phrase; empty for a status that the service does not have.
    package static func reason(_ status: Int) -> String {
        reasons.first { $0.status == status }?.reason ?? ""
    }
}
