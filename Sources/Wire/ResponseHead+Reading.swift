extension ResponseHead {
    /// RFC 9112 §4: HTTP-version SP status-code SP [ reason-phrase ]; servers often omit the second
    /// space if there is no reason, and nothing depends on it.
    mutating func readStatusLine(
        _ line: Range<Int>, in span: Span<UInt8>
    ) throws(ResponseFailure) {
        let start = line.lowerBound
        guard line.count >= 12,
            span.equals("HTTP/1.", in: start..<(start + 7), ignoringCase: false),
            ByteClass.isDigit(span[start + 7]), span[start + 8] == 0x20,
            let status = span.decimal(in: (start + 9)..<(start + 12)), status >= 100
        else { throw .malformedStatusLine }
        minorVersion = span[start + 7] == 0x30 ? 0 : 1
        self.status = status
        guard line.count > 12 else { return }
        let reason = (start + 13)..<line.upperBound
        guard span[start + 12] == 0x20, FieldTable.firstForbidden(reason, in: span) == nil else {
            throw .malformedStatusLine
        }
        reasonRange = reason
    }

    /// RFC 9112 §6.3 for responses.
    mutating func conclude(answersHead: Bool) throws(ResponseFailure) {
        let bytes = self.bytes
        let span = bytes.span
        body = try bodyLength(answersHead: answersHead, in: span)
        let closes = fields.lists(.connection, "close", in: span)
        let stays = minorVersion >= 1 || fields.lists(.connection, "keep-alive", in: span)
        keepsAlive = !closes && stays && body != .untilClose
    }

    private func bodyLength(
        answersHead: Bool, in span: Span<UInt8>
    ) throws(ResponseFailure) -> ResponseBodyLength {
        // Rule 1: these have no body, regardless of their fields.
        if answersHead || status < 200 || status == 204 || status == 304 { return .none }
        if fields.contains(.transferEncoding) {
            // Rule 3: Transfer-Encoding beside Content-Length ought to be handled as an error.
            if fields.contains(.contentLength) { throw .malformedLength }
            guard case .chunked = TransferCodings(fields, in: span) else {
                throw .unknownTransferCoding
            }
            return .chunked
        }
        guard fields.contains(.contentLength) else { return .untilClose }
        var length: Int?
        for entry in fields.entries where entry.known == .contentLength {
            guard let value = span.decimal(in: entry.value), length == nil || length == value
            else { throw .malformedLength }
            length = value
        }
        return .sized(length ?? 0)
    }
}
