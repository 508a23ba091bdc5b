/// Responses as bytes (RFC 9112 §4, §6).
///
/// Design: everything is appended to the connection's output, nothing is made in between. Fields
/// that never change are encoded once as `FieldLines`.
package enum ResponseEncoder {
    /// The interim response that lets a peer send its body (RFC 9110 §15.2.1).
    package static let continueResponse: [UInt8] = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    private static let date: [UInt8] = Array("Date: ".utf8)
    private static let contentLength: [UInt8] = Array("Content-Length: ".utf8)
    private static let close: [UInt8] = Array("Connection: close\r\n".utf8)
    private static let chunked: [UInt8] = Array("Transfer-Encoding: chunked\r\n".utf8)
    private static let keepAlive: [UInt8] = Array("Connection: keep-alive\r\n".utf8)

    /// Appends a whole response.
    ///
    /// Content-Length is always there but for 1xx, 204 and 304, which have no body and get none.
    ///
    /// - Parameters:
    ///   - status: 100…999; anything else traps.
    ///   - lines: the fields beside Date, Content-Length and Connection, which are written here.
    ///   - date: the formatted date, or nothing to leave Date out.
    ///   - close: whether the connection is closed behind this response.
    ///   - minorVersion: the request's; an HTTP/1.0 peer gets a field if the connection stays.
    ///   - headOnly: whether this responds to HEAD: the length is sent, the body is not.
    package static func append(
        status: Int, lines: FieldLines, body: Span<UInt8>, date: [UInt8], close: Bool,
        minorVersion: Int, headOnly: Bool, to out: inout [UInt8]
    ) {
        appendHead(status: status, lines: lines, date: date, to: &out)
        appendEnd(
            status: status, bodyBytes: body.count, close: close, minorVersion: minorVersion,
            to: &out)
        if !headOnly, hasBody(status) { out.append(copying: body) }
    }

    /// Appends the beginning of a response, which many may share: its status line, Date and
    /// fields. `append(head:body:close:minorVersion:to:)` completes it.
    package static func appendHead(
        status: Int, lines: FieldLines, date: [UInt8], to out: inout [UInt8]
    ) {
        StatusLine.append(status, to: &out)
        appendDate(date, to: &out)
        out.append(contentsOf: lines.bytes)
    }

    /// Appends a whole response whose beginning is there already; its status is 200.
    ///
    /// - Parameters:
    ///   - head: what `appendHead` wrote.
    ///   - body: sent whole: this answers no HEAD.
    ///   - close: whether the connection is closed behind this response.
    ///   - minorVersion: the request's; an HTTP/1.0 peer gets a field if the connection stays.
    package static func append(
        head: [UInt8], body: Span<UInt8>, close: Bool, minorVersion: Int, to out: inout [UInt8]
    ) {
        out.append(contentsOf: head)
        appendEnd(
            status: 200, bodyBytes: body.count, close: close, minorVersion: minorVersion, to: &out)
        out.append(copying: body)
    }

    /// The same, for fields that are made for this response and a body that is an array.
    package static func append(
        status: Int, fields: [(String, String)], body: [UInt8], date: [UInt8], close: Bool,
        minorVersion: Int, headOnly: Bool, to out: inout [UInt8]
    ) {
        append(
            status: status, lines: FieldLines(fields), body: body.span, date: date, close: close,
            minorVersion: minorVersion, headOnly: headOnly, to: &out)
    }

    /// Appends the head of a response whose body the caller appends or sends by itself.
    ///
    /// - Parameter bodyBytes: the body's length, which `Content-Length` says.
    /// - Returns: whether a response of this status has a body (RFC 9110 §6.4.1).
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

    /// Appends the head of a response whose length nobody knows, such as an event stream.
    ///
    /// - Parameters:
    ///   - isChunked: whether the body comes in chunks (RFC 9112 §7.1), which HTTP/1.0 does not know;
    ///     else it ends with the connection (§6.3 rule 8).
    ///   - close: whether the connection is closed behind this response; false is for an answer to
    ///     HEAD, which has no body.
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

    /// The same, for fields that are made for this response.
    package static func appendStreamHead(
        status: Int, fields: [(String, String)], date: [UInt8], isChunked: Bool,
        to out: inout [UInt8]
    ) {
        appendStreamHead(
            status: status, lines: FieldLines(fields), date: date, isChunked: isChunked, to: &out)
    }

    /// RFC 9110 §6.4.1: which responses have content.
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
            // RFC 9112 §9.3: without it an HTTP/1.0 peer takes the connection to end.
            out.append(contentsOf: keepAlive)
        }
        appendLineEnd(to: &out)
    }

    private static func appendLineEnd(to out: inout [UInt8]) {
        out.append(0x0d)
        out.append(0x0a)
    }
}
