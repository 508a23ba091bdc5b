/// Parses the requests of a connection: bytes in, one request at a time out (RFC 9112).
///
/// Design: a state machine without memory of its own. Incomplete parts are stored in the caller's
/// head and body, so all input is consumed and no input buffer is kept; between requests a
/// connection needs this value only. The same bytes give the same requests and the same refusal,
/// however they are split.
///
/// Invariant: each line is checked when it is complete, and no byte is skipped unchecked.
package struct RequestReader: Sendable {
    /// The outcome of a call.
    package enum Progress: Sendable, Equatable {
        /// All input is consumed and the request is not complete.
        case needsMore
        /// The head is complete and the peer waits for `100 Continue`; returned once, and not if
        /// part of the body has arrived already (RFC 9110 §10.1.1).
        case continueExpected
        /// Head and body contain a whole request; `offset` is at the first byte after it.
        case complete
    }

    private enum State: Sendable {
        case between
        case head
        case sized(remaining: Int)
        case chunked
        // Apart, so that a reader without one is small.
        indirect case refused(RequestRefusal)
    }

    /// Precedent: RFC 9112 §2.2 recommends ignoring "at least one"; no client sends more than two.
    private static let emptyLineLimit = 4
    /// The number of bytes copied at a time while the head's end is searched.
    private static let biteBytes = 1_024

    /// May change at any time: a request that is being read is refused if it exceeds the new ones.
    package var limits: RequestLimits
    private var state = State.between
    /// The number of CR LF bytes read before a request line.
    private var leadingBytes: UInt8 = 0
    private var lines = HeadLines()
    private var chunks = ChunkReader()

    package init(limits: RequestLimits) {
        self.limits = limits
    }

    /// Whether no byte of a next request was read: closing now loses nothing.
    package var isBetweenRequests: Bool {
        if case .between = state { return true }
        return false
    }

    /// Whether a head was started and is not complete.
    package var isReadingHead: Bool {
        if case .head = state { return true }
        return false
    }

    /// Whether a head is complete and its body is not.
    package var isReadingBody: Bool {
        switch state {
        case .sized, .chunked: true
        case .between, .head, .refused: false
        }
    }

    /// Reads from `input` and moves `offset` past the consumed bytes, at most to the request's end.
    ///
    /// Call it again with the same head and body until it returns `complete`; a new request resets
    /// both. After an error, every call throws the same error and consumes nothing.
    package mutating func next(
        _ input: Span<UInt8>, at offset: inout Int, head: inout RequestHead, body: inout [UInt8]
    ) throws(RequestRefusal) -> Progress {
        do {
            return try advance(input, at: &offset, head: &head, body: &body)
        } catch {
            state = .refused(error)
            throw error
        }
    }

    /// As ``next(_:at:head:body:)``; a head that repeats an earlier one is not parsed again.
    package mutating func next(
        _ input: Span<UInt8>, at offset: inout Int, head: inout RequestHead, body: inout [UInt8],
        repeated: inout RepeatedHead
    ) throws(RequestRefusal) -> Progress {
        // Not after a part of an empty line: that part is checked together with the next byte.
        guard isBetweenRequests, leadingBytes == 0, let known = repeated.match(input, at: offset)
        else {
            let progress = try next(input, at: &offset, head: &head, body: &body)
            if progress == .complete { repeated.record(head) }
            return progress
        }
        head = known
        body.removeAll(keepingCapacity: true)
        offset += known.bytes.count
        do {
            return try beginBody(input, at: &offset, head: &head, body: &body)
        } catch {
            state = .refused(error)
            throw error
        }
    }

    private mutating func advance(
        _ input: Span<UInt8>, at offset: inout Int, head: inout RequestHead, body: inout [UInt8]
    ) throws(RequestRefusal) -> Progress {
        switch state {
        case .between:
            try skipEmptyLines(input, at: &offset)
            guard offset < input.count else { return .needsMore }
            begin(&head, &body)
            return try readHead(input, at: &offset, head: &head, body: &body)
        case .head:
            return try readHead(input, at: &offset, head: &head, body: &body)
        case .sized(let remaining):
            return readSized(remaining, input, at: &offset, body: &body)
        case .chunked:
            return try readChunked(input, at: &offset, body: &body)
        case .refused(let refusal):
            throw refusal
        }
    }

    /// RFC 9112 §2.2: empty lines before a request line are ignored, a few of them.
    private mutating func skipEmptyLines(
        _ input: Span<UInt8>, at offset: inout Int
    ) throws(RequestRefusal) {
        while offset < input.count {
            let byte = input[offset]
            let afterReturn = leadingBytes & 1 == 1
            if afterReturn {
                guard byte == 0x0a else { throw .field(.bareCarriageReturn, line: 0) }
            } else if byte == 0x0a {
                throw .field(.bareLineFeed, line: 0)
            } else if byte != 0x0d {
                return
            }
            guard leadingBytes < Self.emptyLineLimit * 2 else {
                throw .tooManyEmptyLines(limit: Self.emptyLineLimit)
            }
            leadingBytes += 1
            offset += 1
        }
    }

    private mutating func begin(_ head: inout RequestHead, _ body: inout [UInt8]) {
        head.reset()
        body.removeAll(keepingCapacity: true)
        lines = HeadLines()
        leadingBytes = 0
        state = .head
    }

    private mutating func readHead(
        _ input: Span<UInt8>, at offset: inout Int, head: inout RequestHead, body: inout [UInt8]
    ) throws(RequestRefusal) -> Progress {
        while true {
            if try readLines(of: &head) {
                // Bytes after the head were copied, too: return them.
                let excess = head.bytes.count - lines.lineStart
                if excess > 0 { head.bytes.removeLast(excess) }
                offset -= excess
                try head.conclude(limits: limits)
                return try beginBody(input, at: &offset, head: &head, body: &body)
            }
            let room = limits.headBytes - head.bytes.count
            guard room > 0 else { throw headTooLarge(head) }
            guard offset < input.count else { return .needsMore }
            let bite = min(input.count - offset, room, Self.biteBytes)
            head.bytes.append(copying: input.extracting(offset..<(offset + bite)))
            offset += bite
        }
    }

    /// Reads the complete lines; returns true at the empty one.
    private mutating func readLines(of head: inout RequestHead) throws(RequestRefusal) -> Bool {
        // Shared and not copied: the code below does not change the head's bytes, and a span of
        // `head` itself would prevent all changes of `head`.
        let bytes = head.bytes
        let span = bytes.span
        while let line = try lines.next(in: span) {
            if line.isEmpty { return true }
            if lines.count == 1 {
                head.line = try RequestLine(line, in: span, limits: limits)
                continue
            }
            guard head.fields.entries.count < limits.fieldCount else {
                throw .tooManyFields(limit: limits.fieldCount)
            }
            try head.fields.append(line, number: lines.count - 1, in: span)
        }
        return false
    }

    /// RFC 9112 §3: 501 for a method, 414 for a target without an end; else RFC 6585 §5.
    private func headTooLarge(_ head: RequestHead) -> RequestRefusal {
        guard lines.count == 0 else { return .headTooLarge(limit: limits.headBytes) }
        let methodLimit = RequestLine.methodLimitBytes
        let start = head.bytes.prefix(methodLimit + 1)
        if start.count > methodLimit, start.allSatisfy(ByteClass.token.contains) {
            return .methodTooLong(limit: methodLimit)
        }
        return .targetTooLong(limit: limits.targetBytes)
    }

    private mutating func beginBody(
        _ input: Span<UInt8>, at offset: inout Int, head: inout RequestHead, body: inout [UInt8]
    ) throws(RequestRefusal) -> Progress {
        switch head.body {
        case .none, .sized(0):
            state = .between
            return .complete
        case .sized(let length):
            state = .sized(remaining: length)
        case .chunked:
            state = .chunked
            chunks = ChunkReader()
        }
        if offset == input.count {
            return head.expectsContinue ? .continueExpected : .needsMore
        }
        return try advance(input, at: &offset, head: &head, body: &body)
    }

    /// Memory grows with the received bytes, never with the declared length.
    private mutating func readSized(
        _ remaining: Int, _ input: Span<UInt8>, at offset: inout Int, body: inout [UInt8]
    ) -> Progress {
        let count = min(remaining, input.count - offset)
        body.append(copying: input.extracting(offset..<(offset + count)))
        offset += count
        guard count == remaining else {
            state = .sized(remaining: remaining - count)
            return .needsMore
        }
        state = .between
        return .complete
    }

    private mutating func readChunked(
        _ input: Span<UInt8>, at offset: inout Int, body: inout [UInt8]
    ) throws(RequestRefusal) -> Progress {
        guard try chunks.next(input, at: &offset, into: &body, limits: limits) else {
            return .needsMore
        }
        state = .between
        return .complete
    }
}
