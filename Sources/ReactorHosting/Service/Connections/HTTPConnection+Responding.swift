internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

// Output: responses, at once or when they are due.
extension HTTPConnection {
    func respond(with content: Reply.Content) {
        switch content.kind {
        case .subscribed(let subscriber, let opening):
            EventStream.begin(subscriber, opening, on: self)
        case .received where isPublication, .replayed where isPublication:
            PublishTopic.respond(content, on: self)
        case .received where !output.isInTurn: sendReceipt(content)
        default:
            guard case .waiting(_, let options) = state else { return }
            respond(Response(content, options, loop.heads.durability))
        }
    }

    private var isPublication: Bool {
        if case .waiting(_, let options?) = state { options.isPublication } else { false }
    }

    /// Encodes the response after those of the same turn. Outside of a turn it is sent at once.
    func respond(_ response: Response) {
        guard case .waiting(let request, let options) = state else { return }
        var response = response
        switch options?.link {
        case .incoming(let origin)?: return answerIncoming(response, at: origin)
        case .forwarded(let forward, _)?:
            let forwarding = forward.forwarding
            if let failure = forwarding.failure(inPlaceOf: response.status, response.code ?? "") {
                response = .problem(Problem(failure, of: forward.session.text))
            }
            if let part = forward.part {
                return PostPart.end(part, PartOutcome(response), on: self)
            }
        case .local(let local)? where response.code == Problem.movedCode:
            if RequestForwarder.sendOn(local, on: self) { return }
        case .local?: break
        case nil: break
        }
        if let call = options?.call { return end(call, LinkAnswer(response)) }
        guard output.isInTurn else { return respondLater { () throws(Problem) in response } }
        let closes = request.closes || loop.service.isDraining
        if request.route?.mayBeOverBudget ?? false, !request.isHead {
            let service = loop.service
            response = response.charged(
                to: service.work, for: service.workClient(of: identity))
        }
        loop.schedule.count(response.workBytes)
        output.charge(response.workBytes)
        response.encode(for: request, closes: closes, loop, to: &output)
        if let charge = response.charge, response.sentBytes(for: request) > 0 {
            output.hold(charge)
        }
        if let code = response.problemCode { loop.counters.refusals.count(code) }
        if case .endedStream(let problem) = response.body, !request.isHead {
            loop.countResponse(to: request, status: response.status)
            options?.endSpan(status: response.status, problem.code)
            if loop.settings.hasAccessLog {
                logAccess(request, status: 200, problem.code, bytes: problem.body.count)
            }
            state = .closing
            return
        }
        finish(
            request, options, status: response.status, closes: closes, code: response.code,
            bytes: response.sentBytes(for: request))
    }

    /// Responds to a request that was read earlier, then reads what the client has sent since.
    ///
    /// - Parameter act: returns nil if the response is still due.
    func respondLater(_ act: () throws(Problem) -> Response?) {
        let turn = id
        let isLate = !output.isInTurn
        inTurn {
            do throws(Problem) {
                if let response = try act() { respond(response) }
            } catch {
                respond(.problem(error))
            }
        }
        guard isLate, id == turn else { return }
        resumeIfHeld()
        rearm()
    }

    /// Refuses bytes that are no whole request, and closes: where the next one begins is unknown.
    func refuse(_ problem: Problem) {
        state = .waiting(RequestContext(malformedSince: loop.now), nil)
        identity.reset()
        if problem.status < 500, problem.status != 408 { loop.counters.malformed += 1 }
        respond(.problem(problem))
    }

    /// Responds to posted actions after their commit. This is the hot path.
    private func sendReceipt(_ content: Reply.Content) {
        guard case .waiting(let request, let options) = state else { return }
        guard options?.traceparent == nil, options?.link?.isLocal ?? true, options?.call == nil
        else {
            return respond(Response(content, options, loop.heads.durability))
        }
        let turn = id
        let closes = request.closes || loop.service.isDraining
        beginTurn()
        let bytes = Response.encodeReceipt(
            content, for: request, closes: closes, loop, to: &output.encoded)
        finish(request, options, status: 200, closes: closes, code: nil, bytes: bytes)
        endTurn()
        if id == turn { resumeIfHeld() }
    }

    /// Reads the bytes that arrived while the response was due.
    private func resumeIfHeld() {
        if buffers != nil || peerIsFinished { loop.schedule.resume(id) }
    }

    private func finish(
        _ request: RequestContext, _ options: RequestOptions?, status: Int, closes: Bool,
        code: String?, bytes: Int
    ) {
        state = closes ? .closing : .reading
        // The idle time is measured from the response, even if the response is late. (While
        // responses are unsent the connection waits for the peer to accept them.)
        if !hasUnsent { lastProgress = loop.now }
        loop.countResponse(to: request, status: status)
        if let options { options.endSpan(status: status, code) }
        logRequest(request, status: status, code: code, bytes: bytes)
    }

    func setOptions(_ set: (RequestOptions) -> Void) {
        guard case .waiting(let request, let options) = state else { return }
        let present = options ?? RequestOptions()
        set(present)
        if options == nil { state = .waiting(request, present) }
    }
}
