// Parses HTTP/1.1 responses from the pieces that `recv` returns: heads and sized, chunked and
// close-delimited bodies, split at any point. It checks framing only; the parts that it skips
// (header fields, trailers, chunk extensions) do not affect a measurement.

/// Reads the responses of one connection, one after the other.
struct ResponseReader {
    /// The longest head that is accepted: 64 KB, at least any server's own limit.
    static let headLimitBytes = 65_536

    private enum Phase {
        case head
        case sized(Int)
        case chunkSize(value: Int, digits: Int, extended: Bool)
        case chunkData(Int)
        case chunkEnd
        case trailers(lineIsEmpty: Bool)
        case untilClose
        case ended
    }

    /// Whether faults that most clients tolerate are reported too: see ``HeadRules``.
    private let isStrict: Bool
    private var phase = Phase.head
    /// The beginning of a head that is not complete yet.
    private var partial: [UInt8] = []
    /// Whether the peer closes after this response (`Connection: close`, or no length).
    private(set) var closes = false
    /// Whether the response has the field `Age`.
    private(set) var hasAge = false

    init(isStrict: Bool = false) { self.isStrict = isStrict }

    /// Takes the next step over `bytes` from `position`, and moves `position` past the used bytes.
    mutating func next(
        _ bytes: Span<UInt8>, _ position: inout Int
    ) throws(ResponseFault) -> ResponseStep {
        while true {
            switch phase {
            case .head:
                guard let status = try head(bytes, &position) else { return .needMore }
                if status >= 200 { return .head(status) }
            case .sized(0), .ended:
                phase = .head
                return .end
            case .sized(let rest):
                guard position < bytes.count else { return .needMore }
                let piece = consume(rest, bytes, &position)
                phase = .sized(rest - piece.count)
                return .body(piece)
            case .chunkData(let rest):
                guard position < bytes.count else { return .needMore }
                let piece = consume(rest, bytes, &position)
                phase = rest == piece.count ? .chunkEnd : .chunkData(rest - piece.count)
                return .body(piece)
            case .untilClose:
                guard position < bytes.count else { return .needMore }
                return .body(consume(.max, bytes, &position))
            case .chunkSize, .chunkEnd, .trailers:
                guard position < bytes.count else { return .needMore }
                try chunkFraming(bytes[position])
                position += 1
            }
        }
    }

    /// Returns whether the peer's close ends the response that is being read.
    var endsAtClose: Bool {
        if case .untilClose = phase { return true }
        return false
    }

    /// Whether no response has begun.
    var isBetweenResponses: Bool {
        if case .head = phase { return partial.isEmpty }
        return false
    }

    private func consume(_ rest: Int, _ bytes: Span<UInt8>, _ position: inout Int) -> Range<Int> {
        let start = position
        position += min(rest, bytes.count - position)
        return start..<position
    }

    // MARK: Chunked framing, RFC 9112 §7.1

    private mutating func chunkFraming(_ byte: UInt8) throws(ResponseFault) {
        switch phase {
        case .chunkSize(let value, let digits, let extended):
            try chunkSize(byte, value, digits, extended)
        case .chunkEnd:
            if isStrict, byte != 0x0A, byte != 0x0D { throw .badChunkEnd }
            if byte == 0x0A { phase = .chunkSize(value: 0, digits: 0, extended: false) }
        case .trailers(let lineIsEmpty):
            if byte == 0x0A {
                phase = lineIsEmpty ? .ended : .trailers(lineIsEmpty: true)
            } else if byte != 0x0D {
                phase = .trailers(lineIsEmpty: false)
            }
        default:
            break
        }
    }

    private mutating func chunkSize(
        _ byte: UInt8, _ value: Int, _ digits: Int, _ extended: Bool
    ) throws(ResponseFault) {
        if byte == 0x0A {
            guard digits > 0 else { throw .badChunkSize }
            phase = value == 0 ? .trailers(lineIsEmpty: true) : .chunkData(value)
            return
        }
        let isExtended = extended || byte == 0x3B || byte == 0x0D || byte == 0x20
        if isExtended {
            phase = .chunkSize(value: value, digits: digits, extended: true)
            return
        }
        let lower = byte | 0x20
        let digit: Int
        if byte &- 0x30 <= 9 {
            digit = Int(byte) - 0x30
        } else if lower &- 0x61 <= 5 {
            digit = Int(lower) - 0x61 + 10
        } else {
            throw .badChunkSize
        }
        guard digits < 15 else { throw .badChunkSize }
        phase = .chunkSize(value: value << 4 | digit, digits: digits + 1, extended: false)
    }

    // MARK: Heads

    /// Reads one head; returns nil if it is incomplete.
    private mutating func head(
        _ bytes: Span<UInt8>, _ position: inout Int
    ) throws(ResponseFault) -> Int? {
        if partial.isEmpty {
            if let end = Self.headEnd(bytes, from: position) {
                let status = try interpret(bytes, position..<end)
                position = end
                return status
            }
            partial.append(bytes, in: position..<bytes.count)
            position = bytes.count
        } else {
            // Line by line, so that the bytes after the head stay where they are.
            while position < bytes.count {
                let lineEnd = bytes.firstOffset(of: 0x0A, from: position).map { $0 + 1 }
                partial.append(bytes, in: position..<(lineEnd ?? bytes.count))
                position = lineEnd ?? bytes.count
                guard lineEnd != nil, endsWithEmptyLine else { continue }
                let whole = partial
                partial = []
                return try interpret(whole.span, 0..<whole.count)
            }
        }
        guard partial.count <= Self.headLimitBytes else { throw .headTooLong }
        return nil
    }

    private var endsWithEmptyLine: Bool {
        let count = partial.count
        if count >= 2, partial[count - 2] == 0x0A { return true }
        return count >= 3 && partial[count - 2] == 0x0D && partial[count - 3] == 0x0A
    }

    private static func headEnd(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var lineStart = start
        while let newline = bytes.firstOffset(of: 0x0A, from: lineStart) {
            let length = newline - lineStart
            if length == 0 || (length == 1 && bytes[lineStart] == 0x0D) { return newline + 1 }
            lineStart = newline + 1
        }
        return nil
    }

    private mutating func interpret(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ResponseFault) -> Int {
        // "HTTP/1.1 200": the status has a fixed offset (RFC 9112 §4).
        guard range.count >= 13, bytes.hasPrefix("HTTP/1.", at: range.lowerBound),
            let code = bytes.decimal(in: range.lowerBound + 9..<range.lowerBound + 12),
            code >= 100
        else { throw .noStatusLine }
        if isStrict { try HeadRules.check(bytes, range) }
        let status = Int(code)
        var fields = Fields(closes: bytes[range.lowerBound + 7] == 0x30)
        var lineStart = bytes.firstOffset(of: 0x0A, from: range.lowerBound).map { $0 + 1 }
        while let start = lineStart, start < range.upperBound,
            let newline = bytes.firstOffset(of: 0x0A, from: start)
        {
            try fields.append(bytes, start..<newline)
            lineStart = newline + 1
        }
        if status >= 200 { begin(status: status, fields) }
        return status
    }

    /// RFC 9112 §6.3, as far as it applies to a client without HEAD and CONNECT.
    private mutating func begin(status: Int, _ fields: Fields) {
        closes = fields.closes
        hasAge = fields.hasAge
        if status == 204 || status == 304 {
            phase = .ended
        } else if fields.isChunked {
            phase = .chunkSize(value: 0, digits: 0, extended: false)
        } else if let length = fields.contentLength {
            phase = .sized(length)
        } else {
            phase = .untilClose
            closes = true
        }
    }

    private struct Fields {
        var contentLength: Int?
        var isChunked = false
        var hasAge = false
        var closes: Bool

        init(closes: Bool) { self.closes = closes }

        @inline(__always)
        mutating func append(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ResponseFault) {
            guard let first = line.first else { return }
            let initial = bytes[first] | 0x20
            if initial == 0x61, bytes.hasPrefixIgnoringCase("age:", at: first) { hasAge = true }
            guard initial == 0x63 || initial == 0x74 else { return }
            if bytes.hasPrefixIgnoringCase("content-length:", at: first) {
                let value = Self.trimmed(bytes, first + 15..<line.upperBound)
                guard let length = bytes.decimal(in: value), length <= UInt64(Int32.max) else {
                    throw .badContentLength
                }
                contentLength = Int(length)
            } else if bytes.hasPrefixIgnoringCase("transfer-encoding:", at: first) {
                let value = Self.trimmed(bytes, first + 18..<line.upperBound)
                isChunked = bytes.hasPrefixIgnoringCase("chunked", at: value.upperBound - 7)
            } else if bytes.hasPrefixIgnoringCase("connection:", at: first) {
                let value = Self.trimmed(bytes, first + 11..<line.upperBound)
                if bytes.hasPrefixIgnoringCase("close", at: value.lowerBound) { closes = true }
            }
        }

        private static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
            var start = range.lowerBound
            var end = range.upperBound
            while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
            while end > start, bytes[end - 1] == 0x0D || bytes[end - 1] == 0x20 { end -= 1 }
            return start..<end
        }
    }
}
