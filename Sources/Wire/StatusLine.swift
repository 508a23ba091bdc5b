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

    /// The registered phrase (RFC 9110 §15, RFC 6585, RFC 4918), or nothing.
    package static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 500...599: serverReason(status)
        default: clientReason(status)
        }
    }

    private static func clientReason(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        default: ""
        }
    }

    private static func serverReason(_ status: Int) -> String {
        switch status {
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: ""
        }
    }
}
