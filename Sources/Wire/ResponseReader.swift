/// The head of a response, as a client reads it.
package struct ResponseHead: Sendable {
    package let status: Int
    fileprivate let bytes: [UInt8]
    fileprivate let fields: FieldTable

    /// The value of the first field with this name; nil if there is none.
    package subscript(_ field: KnownField) -> String? {
        fields.first(field).map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}

/// Reads one response to a request other than HEAD, as its bytes arrive (RFC 9112 §4, §6.3).
///
/// Design: the parts are those of the reader of requests, and as strict. Two readers that disagree
/// about the end of a message are a hazard in both directions.
package struct ResponseReader: Sendable {
    private enum Part: Sendable {
        case head
        /// The number of bytes that are missing.
        case sized(Int)
        case chunked(ChunkReader)
        case untilEnd
        case complete
    }

    /// The final head, once it has arrived. Informational ones (1xx) are dropped.
    package private(set) var head: ResponseHead?
    private let limits: RequestLimits
    private var part = Part.head
    private var headBytes: [UInt8] = []
    private var droppedBytes = 0
    private var body: [UInt8] = []

    /// - Parameter bodyLimitBytes: The most that a body may have; of a stream, what may wait until
    ///   ``takeBody()``. All heads together may have 64 KiB.
    package init(bodyLimitBytes: Int) {
        var limits = RequestLimits()
        limits.headBytes = 65_536
        limits.bodyBytes = bodyLimitBytes
        self.limits = limits
    }

    package var isComplete: Bool {
        if case .complete = part { true } else { false }
    }

    /// Removes and returns the bytes of the body that have arrived.
    package mutating func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    /// The peer has ended the connection; returns whether the response is complete.
    package mutating func finish() -> Bool {
        if case .untilEnd = part { part = .complete }
        return isComplete
    }

    /// Receives the next bytes; what follows the response is ignored.
    package mutating func receive(_ input: Span<UInt8>) throws(RequestRefusal) {
        switch part {
        case .complete: return
        case .head:
            headBytes.append(copying: input)
            while let end = try readHead() {
                let rest = Array(headBytes[end...])
                guard head == nil else { return try receive(rest.span) }
                droppedBytes += end
                headBytes = rest
            }
        case .sized(let missing):
            let count = min(missing, input.count)
            body.append(copying: input.extracting(first: count))
            part = count == missing ? .complete : .sized(missing - count)
        case .chunked(var chunks):
            var offset = 0
            let isLast = try chunks.next(input, at: &offset, into: &body, limits: limits)
            part = isLast ? .complete : .chunked(chunks)
        case .untilEnd:
            guard input.count <= limits.bodyBytes - body.count else {
                throw .bodyTooLarge(limit: limits.bodyBytes)
            }
            body.append(copying: input)
        }
    }

    /// Reads the head again from its first byte; returns its end once it is there.
    private mutating func readHead() throws(RequestRefusal) -> Int? {
        var (status, fields, lines) = (0, FieldTable(), HeadLines())
        var end: Int?
        while end == nil, let line = try lines.next(in: headBytes.span) {
            if lines.count == 1 {
                status = try Self.status(headBytes[line])
            } else if line.isEmpty {
                end = lines.lineStart
            } else {
                try fields.append(line, number: lines.count - 1, in: headBytes.span)
            }
        }
        guard droppedBytes + (end ?? headBytes.count) <= limits.headBytes else {
            throw .headTooLarge(limit: limits.headBytes)
        }
        if end != nil, status >= 200 {
            part = try length(status, fields)
            head = ResponseHead(status: status, bytes: headBytes, fields: fields)
        }
        return end
    }

    /// RFC 9112 §6.3: a 204 and a 304 have no body; without a length it ends with the connection.
    private func length(_ status: Int, _ fields: FieldTable) throws(RequestRefusal) -> Part {
        guard status != 204, status != 304 else { return .complete }
        switch try fields.bodyLength(minorVersion: 1, in: headBytes.span) {
        case .none: return .untilEnd
        case .chunked: return .chunked(ChunkReader())
        case .sized(let count):
            guard count <= limits.bodyBytes else { throw .bodyTooLarge(limit: limits.bodyBytes) }
            return count == 0 ? .complete : .sized(count)
        }
    }

    /// RFC 9112 §4: `HTTP/1.1 200` and a reason, which may be missing.
    private static func status(_ line: ArraySlice<UInt8>) throws(RequestRefusal) -> Int {
        let text = String(decoding: line, as: UTF8.self)
        let digits = text.dropFirst(9).prefix { $0 != " " }
        guard text.hasPrefix("HTTP/1.1 ") || text.hasPrefix("HTTP/1.0 "), digits.utf8.count == 3,
            let status = UInt16(digits), status >= 100
        else { throw .malformedStatusLine }
        return Int(status)
    }
}
