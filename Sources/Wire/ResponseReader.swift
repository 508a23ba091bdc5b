/// Parses the responses of a connection, for clients and tests (RFC 9112 §4, §6.3).
///
/// Design: the counterpart of `RequestReader`: bytes in, heads and body bytes out; incomplete parts
/// are stored in the caller's head and body. A body is appended as it arrives, so that a stream's
/// reader can process the present bytes and remove them.
package struct ResponseReader: Sendable {
    /// The outcome of a call.
    package enum Progress: Sendable, Equatable {
        /// All input is consumed. The body may have grown.
        case needsMore
        /// An interim response (1xx) is in the head; the final one follows.
        case interim
        /// The head is complete and a body follows; returned once.
        case headComplete
        /// The response is complete; `offset` is at the first byte after it.
        case complete
    }

    private enum State: Sendable {
        case between
        case head
        case sized(remaining: Int)
        case chunked
        case untilClose
        case failed(ResponseFailure)
    }

    /// The limit of a chunked body's extensions, and of its trailers.
    private static let framingLimitBytes = 65_536

    private let headLimitBytes: Int
    private var state = State.between
    private var answersHead: Bool
    private var lines = HeadLines()
    private var chunks = ChunkReader()

    /// - Parameters:
    ///   - headLimitBytes: The largest head. Default 65 536.
    ///   - answersHead: Whether the next response is for HEAD, and so has no body.
    package init(headLimitBytes: Int = 65_536, answersHead: Bool = false) {
        self.headLimitBytes = headLimitBytes
        self.answersHead = answersHead
    }

    /// Whether no byte of a next response was read.
    package var isBetweenResponses: Bool {
        if case .between = state { return true }
        return false
    }

    /// Sets whether the next response is for HEAD; call it between responses.
    package mutating func expectResponse(toHead: Bool) {
        answersHead = toHead
    }

    /// Reads from `input` at `offset` and moves `offset` past the consumed bytes, never beyond the
    /// end of the completed response. A new response resets head and body.
    package mutating func next(
        _ input: Span<UInt8>, at offset: inout Int, head: inout ResponseHead, body: inout [UInt8]
    ) throws(ResponseFailure) -> Progress {
        do {
            return try advance(input, at: &offset, head: &head, body: &body)
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// Handles the end of the connection: completes a body that lasts until then.
    ///
    /// - Returns: Whether this completed a response.
    /// - Throws: `truncated` if a response was incomplete.
    package mutating func finish() throws(ResponseFailure) -> Bool {
        switch state {
        case .between: return false
        case .untilClose:
            state = .between
            return true
        case .head, .sized, .chunked:
            state = .failed(.truncated)
            throw .truncated
        case .failed(let failure): throw failure
        }
    }

    private mutating func advance(
        _ input: Span<UInt8>, at offset: inout Int, head: inout ResponseHead, body: inout [UInt8]
    ) throws(ResponseFailure) -> Progress {
        switch state {
        case .between:
            guard offset < input.count else { return .needsMore }
            head.reset()
            body.removeAll(keepingCapacity: true)
            lines = HeadLines()
            state = .head
            return try readHead(input, at: &offset, head: &head)
        case .head:
            return try readHead(input, at: &offset, head: &head)
        case .sized(let remaining):
            return readSized(remaining, input, at: &offset, body: &body)
        case .chunked:
            return try readChunked(input, at: &offset, body: &body)
        case .untilClose:
            body.append(copying: input.extracting(offset..<input.count))
            offset = input.count
            return .needsMore
        case .failed(let failure):
            throw failure
        }
    }

    private mutating func readHead(
        _ input: Span<UInt8>, at offset: inout Int, head: inout ResponseHead
    ) throws(ResponseFailure) -> Progress {
        while true {
            if try readLines(of: &head) {
                // Bytes after the head were copied, too: return them.
                let excess = head.bytes.count - lines.lineStart
                head.bytes.removeLast(excess)
                offset -= excess
                return try finishHead(&head)
            }
            let room = headLimitBytes - head.bytes.count
            guard room > 0 else { throw .headTooLarge(limit: headLimitBytes) }
            guard offset < input.count else { return .needsMore }
            let bite = min(input.count - offset, room, 1_024)
            head.bytes.append(copying: input.extracting(offset..<(offset + bite)))
            offset += bite
        }
    }

    private mutating func readLines(of head: inout ResponseHead) throws(ResponseFailure) -> Bool {
        let bytes = head.bytes
        let span = bytes.span
        while let line = try nextLine(in: span) {
            if line.isEmpty, lines.count > 1 { return true }
            if lines.count == 1 {
                try head.readStatusLine(line, in: span)
                continue
            }
            do {
                try head.fields.append(line, number: lines.count - 1, in: span)
            } catch {
                throw .field(error)
            }
        }
        return false
    }

    private mutating func nextLine(
        in span: Span<UInt8>
    ) throws(ResponseFailure) -> Range<Int>? {
        do {
            return try lines.next(in: span)
        } catch {
            throw .field(error)
        }
    }

    private mutating func finishHead(
        _ head: inout ResponseHead
    ) throws(ResponseFailure) -> Progress {
        if head.status == 101 { throw .unexpectedUpgrade }
        try head.conclude(answersHead: answersHead)
        if head.status < 200 {
            state = .between
            return .interim
        }
        switch head.body {
        case .none, .sized(0):
            state = .between
            return .complete
        case .sized(let length): state = .sized(remaining: length)
        case .chunked:
            state = .chunked
            chunks = ChunkReader()
        case .untilClose: state = .untilClose
        }
        return .headComplete
    }

    private mutating func readSized(
        _ remaining: Int, _ input: Span<UInt8>, at offset: inout Int, body: inout [UInt8]
    ) -> Progress {
        let count = min(remaining, input.count - offset)
        body.append(copying: input.extracting(offset..<(offset + count)))
        offset += count
        state = count == remaining ? .between : .sized(remaining: remaining - count)
        return count == remaining ? .complete : .needsMore
    }

    private mutating func readChunked(
        _ input: Span<UInt8>, at offset: inout Int, body: inout [UInt8]
    ) throws(ResponseFailure) -> Progress {
        do {
            let limits = ChunkReader.Limits(
                extensionBytes: Self.framingLimitBytes, trailerBytes: Self.framingLimitBytes)
            let done = try chunks.next(
                input, at: &offset, into: &body, room: .max, limits: limits)
            if done { state = .between }
            return done ? .complete : .needsMore
        } catch {
            throw .chunk(error)
        }
    }
}
