internal import Sessions
internal import Sockets
internal import Wire

// Bytes out: responses, at once or when they are due.
extension HTTPConnection {
    /// Responds with what a session replies.
    func respond(with content: Reply.Content) {
        switch content.kind {
        case .subscribed(let subscriber, let opening):
            EventStream.begin(subscriber, opening, on: self)
        case .received where !isInTurn: sendReceipt(content)
        default:
            guard case .waiting(_, let options) = state else { return }
            respond(Response(content, options, loop.heads.durability))
        }
    }

    /// Encodes the response behind those of the same turn; outside of a turn it is sent at once.
    func respond(_ response: Response) {
        guard case .waiting(let request, let options) = state else { return }
        guard isInTurn else { return respondLater { () throws(Problem) in response } }
        let closes = request.closes || loop.service.isDraining
        let isChunked = request.minorVersion > 0
        loop.schedule.count(response.bodyBytes + response.discardedBytes)
        switch response.body {
        case .endedStream(let problem) where !request.isHead:
            ResponseEncoder.appendStreamHead(
                status: 200, lines: loop.heads.stream, date: loop.date, isChunked: isChunked,
                to: &output)
            Response.appendEndedStream(
                problem, retry: loop.jitteredRetry(), isChunked: isChunked, to: &output)
            loop.counters.count(status: 200)
            state = .closing
            return
        case .streamHead, .endedStream:
            // The connection continues: nothing follows this head.
            ResponseEncoder.appendStreamHead(
                status: 200, lines: loop.heads.stream, date: loop.date, isChunked: isChunked,
                close: closes, to: &output)
        case .bytes, .parts:
            append(response, for: request, closes: closes)
        }
        finish(request, options, status: response.status, closes: closes, code: response.code)
    }

    private func append(_ response: Response, for request: RequestContext, closes: Bool) {
        let hasBody = response.appendHead(
            for: request, closes: closes, loop.heads, date: loop.date, to: &output)
        guard hasBody else { return }
        switch response.body {
        case .bytes(let bytes): appendBody(bytes)
        case .parts(let beginning, let shared, let end):
            output.append(contentsOf: beginning)
            appendBody(shared)
            output.append(contentsOf: end)
        case .endedStream, .streamHead: break
        }
    }

    /// A large body is handed to the kernel from its own array, with ``output`` before it.
    ///
    /// - Parameter copyLimitBytes: up to which a copy costs less than another system call.
    func appendBody(_ body: [UInt8], copyLimitBytes: Int = 16 << 10) {
        guard body.count > copyLimitBytes else { return output.append(contentsOf: body) }
        send(output, body[...])
        output.removeAll(keepingCapacity: true)
    }

    /// Responds later than the request was read; the bytes that the client has sent meanwhile are
    /// read next.
    ///
    /// - Parameter act: nil if the response comes later still.
    func respondLater(_ act: () throws(Problem) -> Response?) {
        let turn = id
        let isLate = !isInTurn
        if isLate { beginTurn() }
        do throws(Problem) {
            if let response = try act() { respond(response) }
        } catch {
            respond(.problem(error))
        }
        guard isLate else { return }
        endTurn()
        guard id == turn else { return }
        if buffers != nil || peerIsFinished { loop.schedule.resume(id) }
        rearm()
    }

    /// Refuses bytes that are not a request, and closes: no next one can be found behind them.
    func refuse(_ problem: Problem) {
        state = .waiting(RequestContext(malformedSince: loop.now), nil)
        if problem.status < 500 { loop.counters.malformed += 1 }
        respond(.problem(problem))
    }

    /// The hot path: posted actions are committed, and the response is sent, made of parts that are
    /// encoded beforehand.
    private func sendReceipt(_ content: Reply.Content) {
        guard case .waiting(let request, let options) = state else { return }
        guard options?.traceparent == nil else {
            return respond(Response(content, options, loop.heads.durability))
        }
        let closes = request.closes || loop.service.isDraining
        var (bytes, body) = (loop.pool.borrowOutput(), loop.pool.borrowReceipt())
        content.appendReceipt(to: &body)
        ResponseEncoder.append(
            head: loop.heads.receiptHead(at: loop.table.wallClockMilliseconds), body: body.span,
            close: closes, minorVersion: request.minorVersion, to: &bytes)
        finish(request, options, status: 200, closes: closes, code: nil)
        send(bytes)
        loop.pool.recycle(output: &bytes)
        loop.pool.recycle(receipt: &body)
        let turn = id
        closeIfDone()
        guard id == turn else { return }
        if buffers != nil || peerIsFinished { loop.schedule.resume(id) }
    }

    private func finish(
        _ request: RequestContext, _ options: RequestOptions?, status: Int, closes: Bool,
        code: String?
    ) {
        state = closes ? .closing : .reading
        // The time until the next request counts from the response, however late that was. (While
        // responses are unsent the connection waits for the peer to accept them.)
        if buffers == nil { lastProgress = loop.now }
        loop.counters.count(status: status)
        loop.service.logRequest(
            request, status: status, code: code, traceparent: options?.traceparent, at: loop.now)
    }

    /// Records options of the present request, for the response that comes later.
    func setOptions(_ set: (RequestOptions) -> Void) {
        guard case .waiting(let request, let options) = state else { return }
        let present = options ?? RequestOptions()
        set(present)
        if options == nil { state = .waiting(request, present) }
    }
}
