/// The effect of the fields on the message: its host, its body's length, and whether the connection
/// persists (RFC 9112 §3.2, §6, §9.3; RFC 9110 §10.1.1).
extension RequestHead {
    /// Checks a complete head and derives its properties.
    mutating func conclude(limits: RequestLimits) throws(RequestRefusal) {
        try checkHost()
        body = try fields.bodyLength(minorVersion: minorVersion, in: bytes.span)
        if case .sized(let length) = body, length > limits.bodyBytes {
            throw .bodyTooLarge(limit: limits.bodyBytes)
        }
        if fields.contains(.expect) { expectsContinue = try readExpectation() }
        keepsAlive = readPersistence()
    }

    /// RFC 9112 §3.2: exactly one Host in an HTTP/1.1 request, at most one in an HTTP/1.0 request;
    /// it must be valid, even if an absolute target makes it irrelevant.
    private func checkHost() throws(RequestRefusal) {
        guard fields.contains(.host) else {
            if minorVersion >= 1 { throw .missingHost }
            return
        }
        let span = bytes.span
        var seen = false
        for entry in fields.entries where entry.known == .host {
            if seen { throw .repeatedHost }
            seen = true
            guard Authority.isValid(entry.value, in: span) else { throw .malformedHost }
        }
    }

    /// The host that the request is for, without its port: of an absolute target, otherwise of the
    /// field Host (RFC 9112 §3.3). Nil without either, in HTTP/1.0 only; empty for an empty Host.
    package var host: Range<Int>? {
        guard let authority = line.authority ?? range(of: .host) else { return nil }
        return Authority.host(of: authority, in: bytes.span)
    }

    package func isAddress(_ host: Range<Int>) -> Bool {
        Authority.isAddress(host, in: bytes.span)
    }

    /// RFC 9110 §10.1.1: 417 for an unknown expectation; ignored for HTTP/1.0, which has no 100.
    private func readExpectation() throws(RequestRefusal) -> Bool {
        for value in values(of: .expect) {
            guard matches(value, ignoringCase: "100-continue") else {
                throw .unsupportedExpectation
            }
        }
        return minorVersion >= 1
    }

    /// RFC 9112 §9.3: `close` has precedence, then the version decides.
    private func readPersistence() -> Bool {
        guard fields.contains(.connection) else { return minorVersion >= 1 }
        let span = bytes.span
        if fields.lists(.connection, "close", in: span) { return false }
        return minorVersion >= 1 || fields.lists(.connection, "keep-alive", in: span)
    }
}

extension FieldTable {
    /// RFC 9112 §6.3; every ambiguous message is refused.
    func bodyLength(
        minorVersion: Int, in bytes: Span<UInt8>
    ) throws(RequestRefusal) -> BodyLength {
        if contains(.transferEncoding) {
            // RFC 9112 §6.3 rule 3: having both may be an attempt at request smuggling.
            if contains(.contentLength) { throw .transferEncodingWithContentLength }
            // RFC 9112 §6.1: such a message must be treated as if its framing were faulty.
            if minorVersion == 0 { throw .transferEncodingInOldVersion }
            try requireChunked(in: bytes)
            return .chunked
        }
        guard contains(.contentLength) else { return .none }
        var length: Int?
        for entry in entries where entry.known == .contentLength {
            // RFC 9110 §8.6 allows merging equal values; no correct client sends them, so: refused.
            if length != nil { throw .repeatedContentLength }
            guard let value = bytes.decimal(in: entry.value) else {
                throw .malformedContentLength
            }
            length = value
        }
        return .sized(length ?? 0)
    }
}

extension Span<UInt8> {
    /// The value of a range of one or more digits; a number that does not fit is `Int.max`, which
    /// every limit refuses. Nil for anything else: a sign, a list, a space.
    func decimal(in range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return nil }
        var value = 0
        for index in range {
            let byte = self[index]
            guard ByteClass.isDigit(byte) else { return nil }
            let (tens, over) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(byte &- 0x30))
            value = over || carry ? .max : sum
        }
        return value
    }
}
