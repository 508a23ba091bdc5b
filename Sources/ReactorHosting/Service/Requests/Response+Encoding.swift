internal import JSONCoding
internal import Sessions
internal import Sockets
internal import Wire

// Encodes a response after those that its connection has not sent yet.
extension Response {
    /// Appends the response.
    ///
    /// - Parameter closes: Whether the connection closes; after a stream that ends it always does.
    func encode(
        for request: RequestContext, closes: Bool, _ loop: LoopResources,
        to output: inout ConnectionOutput
    ) {
        switch body {
        case .endedStream(let problem) where !request.isHead:
            encodeStreamHead(for: request, closes: true, loop, to: &output.encoded)
            Self.appendEndedStream(
                problem, retry: loop.jitteredRetry(after: problem),
                isChunked: request.minorVersion > 0, to: &output.encoded)
        case .streamHead, .endedStream:
            // The connection stays open: no body follows this head.
            encodeStreamHead(for: request, closes: closes, loop, to: &output.encoded)
        case .bytes(let bytes), .constant(let bytes):
            guard encodeHead(for: request, closes: closes, loop, to: &output.encoded) else {
                return
            }
            output.append(bytes)
        case .parts(let beginning, let shared, let end):
            guard encodeHead(for: request, closes: closes, loop, to: &output.encoded) else {
                return
            }
            output.append(beginning)
            output.append(shared)
            output.append(end)
        }
    }

    /// The work of the response, in bytes of bodies that were encoded for it, sent or not.
    var workBytes: Int { bodyBytes + discardedBytes }

    /// The length of the body that is sent.
    func sentBytes(for request: RequestContext) -> Int {
        request.isHead || status == 204 || status == 304 ? 0 : bodyBytes
    }

    /// The length of the body for `Content-Length`, whether the body is sent or not.
    private var bodyBytes: Int {
        switch body {
        case .bytes(let bytes), .constant(let bytes): bytes.count
        case .parts(let beginning, let shared, let end):
            beginning.count + shared.count + end.count
        case .endedStream, .streamHead: 0
        }
    }

    /// - Returns: Whether the body follows: not after 204, 304, or the head for a `HEAD` request.
    private func encodeHead(
        for request: RequestContext, closes: Bool, _ loop: LoopResources, to out: inout [UInt8]
    ) -> Bool {
        // Responses change and errors pass, so caches keep only what an endpoint permits. (RFC 9111
        // §4.2.2: without `Cache-Control` they may keep a 200, a 204, a 404 or a 410.)
        var fields = fields
        if !fields.contains(where: { $0.0 == "Cache-Control" }) { fields.append(Self.isNotKept) }
        let hasBody = ResponseEncoder.appendHead(
            status: status, fields: fields + loop.heads.common(request), bodyBytes: bodyBytes,
            date: loop.date, close: closes, minorVersion: request.minorVersion, to: &out)
        return hasBody && !request.isHead
    }

    private func encodeStreamHead(
        for request: RequestContext, closes: Bool, _ loop: LoopResources, to out: inout [UInt8]
    ) {
        ResponseEncoder.appendStreamHead(
            status: status, lines: loop.heads.stream(request), date: loop.date,
            isChunked: request.minorVersion > 0, close: closes, to: &out)
    }

    /// Appends an event stream of one event.
    ///
    /// - Parameter retry: Milliseconds until the client reconnects.
    private static func appendEndedStream(
        _ problem: Problem, retry: Int, isChunked: Bool, to out: inout [UInt8]
    ) {
        let start = out.count
        EventEncoder.appendRetry(milliseconds: retry, to: &out)
        appendProblemEvent(problem, to: &out)
        guard isChunked else { return }
        ChunkEncoder.wrap(from: start, in: &out)
        out.append(contentsOf: ChunkEncoder.last)
    }

    static func appendProblemEvent(_ problem: Problem, to out: inout [UInt8]) {
        out.append(contentsOf: "event: problem\ndata: ".utf8)
        // The document is a line.
        out.append(contentsOf: LineSeparators.escaped(problem.body.dropLast()))
        out.append(contentsOf: "\n\n".utf8)
    }

    /// Appends the response to posted actions from encoded parts. The hot path: no `Response`.
    /// Returns the length of the body.
    static func encodeReceipt(
        _ content: Reply.Content, for request: RequestContext, closes: Bool,
        _ loop: LoopResources, to out: inout [UInt8]
    ) -> Int {
        var body = loop.pool.borrowReceipt()
        content.appendReceipt(to: &body)
        let count = body.count
        ResponseEncoder.append(
            head: loop.heads.receiptHead(request, at: loop.table.wallClockMilliseconds),
            body: body.span,
            close: closes, minorVersion: request.minorVersion, to: &out)
        loop.pool.recycle(receipt: &body)
        return count
    }
}

extension JSON {
    /// The value as one line of JSON, with a line break. `{}` for a value without JSON; the
    /// service's own bodies consist of strings and integers, and always have JSON.
    static func line(_ value: some Encodable) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            try encode(value, into: &bytes)
        } catch {
            bytes = Array("{}".utf8)
        }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}
