/// Encodes responses (RFC 9112 §4, §6).
///
/// Design: everything is appended to the connection's output, without intermediate values. Constant
/// fields are encoded once as `FieldLines`.
package enum ResponseEncoder {
    /// The interim response that lets a peer send its body (RFC 9110 §15.2.1).
    package static let continueResponse: [UInt8] = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// After every status line: a browser uses the declared media type and no other. So a body with
    /// text from clients never runs as a page or a script (Fetch Standard §3.6).
    private static let noSniffing: [UInt8] = Array("X-Content-Type-Options: nosniff\r\n".utf8)
    private static let date: [UInt8] = Array("Date: ".utf8)
    private static let contentLength: [UInt8] = Array("Content-Length: ".utf8)
    private static let close: [UInt8] = Array("Connection: close\r\n".utf8)
    private static let chunked: [UInt8] = Array("Transfer-Encoding: chunked\r\n".utf8)
    private static let keepAlive: [UInt8] = Array("Connection: keep-alive\r\n".utf8)

    /// Appends the beginning of a response, which many responses may share: its status line and its
    /// fields. `append(head:body:close:minorVersion:to:)` completes it.
    package static func appendHead(
        status: Int, lines: FieldLines, date: [UInt8], to out: inout [UInt8]
    ) {
        StatusLine.append(status, to: &out)
        out.append(contentsOf: noSniffing)
        appendDate(date, to: &out)
        out.append(contentsOf: lines.bytes)
    }

    /// Appends a whole response whose beginning exists already; its status is 200.
    ///
    /// - Parameters:
    ///   - body: Sent completely: this must not respond to HEAD.
    ///   - minorVersion: The request's; an HTTP/1.0 peer gets a field if the connection persists.
    package static func append(
        head: [UInt8], body: Span<UInt8>, close: Bool, minorVersion: Int, to out: inout [UInt8]
    ) {
        out.append(contentsOf: head)
        appendEnd(
            status: 200, bodyBytes: body.count, close: close, minorVersion: minorVersion, to: &out)
        out.append(copying: body)
    }

    /// Appends the head of a response; the caller appends or sends the body. `Content-Length` is
    /// always present except for 1xx, 204 and 304. Returns whether a response of this status has a
    /// body (RFC 9110 §6.4.1).
    package static func appendHead(
        status: Int, fields: [(String, String)], bodyBytes: Int, date: [UInt8], close: Bool,
        minorVersion: Int, to out: inout [UInt8]
    ) -> Bool {
        appendHead(status: status, lines: FieldLines(fields), date: date, to: &out)
        appendEnd(
            status: status, bodyBytes: bodyBytes, close: close, minorVersion: minorVersion,
            to: &out)
        return hasBody(status)
    }

    /// Appends the head of a response of unknown length, such as an event stream.
    ///
    /// - Parameters:
    ///   - isChunked: Whether the body is sent in chunks (RFC 9112 §7.1), which HTTP/1.0 lacks;
    ///     otherwise it ends with the connection (§6.3 rule 8).
    ///   - close: Whether the connection is closed after it; false only for a response to HEAD.
    package static func appendStreamHead(
        status: Int, lines: FieldLines, date: [UInt8], isChunked: Bool, close: Bool = true,
        to out: inout [UInt8]
    ) {
        appendHead(status: status, lines: lines, date: date, to: &out)
        if isChunked { out.append(contentsOf: chunked) }
        if close {
            out.append(contentsOf: Self.close)
        } else if !isChunked {
            out.append(contentsOf: keepAlive)
        }
        appendLineEnd(to: &out)
    }

    /// RFC 9110 §6.4.1: whether a response of this status has content.
    private static func hasBody(_ status: Int) -> Bool {
        status >= 200 && status != 204 && status != 304
    }

    private static func appendDate(_ date: [UInt8], to out: inout [UInt8]) {
        guard !date.isEmpty else { return }
        out.append(contentsOf: Self.date)
        out.append(contentsOf: date)
        appendLineEnd(to: &out)
    }

    private static func appendEnd(
        status: Int, bodyBytes: Int, close: Bool, minorVersion: Int, to out: inout [UInt8]
    ) {
        if hasBody(status) {
            out.append(contentsOf: contentLength)
            Decimal.append(UInt64(bodyBytes), to: &out)
            appendLineEnd(to: &out)
        }
        if close {
            out.append(contentsOf: Self.close)
        } else if minorVersion == 0 {
            // RFC 9112 §9.3: without this field an HTTP/1.0 peer expects the connection to end.
            out.append(contentsOf: keepAlive)
        }
        appendLineEnd(to: &out)
    }

    private static func appendLineEnd(to out: inout [UInt8]) {
        out.append(0x0d)
        out.append(0x0a)
    }
}
