internal import Clustering
internal import Sessions
internal import Sockets
internal import Wire

/// Parses requests, has them served one at a time, and sends the responses in order.
///
/// Design: one object for each slot of the loop's table, reused by each connection of the slot. An
/// idle connection has no other memory; incomplete input and output are in ``ConnectionBuffers``.
///
/// Why an object and not a value in an array: changing an array's element is an access to the
/// whole array, which the runtime checks for as long as it lasts. Measured: a tenth of a POST.
final class HTTPConnection {
    enum State {
        case vacant
        /// The connection waits for a request, or is receiving one.
        case reading
        /// A request is complete, and its response is due. Bytes that arrive meanwhile wait.
        case waiting(RequestContext, RequestOptions?)
        /// Events are sent until the connection ends. Bytes that arrive are ignored.
        case streaming(EventStream)
        /// The last bytes are being sent.
        case closing
    }

    let loop: LoopResources
    /// The connection's id; while the slot is vacant, no connection has it. Closures that outlive a
    /// call compare it, because the object may serve another connection by then.
    private(set) var id = ConnectionID(slot: 0, generation: 0)
    /// The time of the peer's last progress: it sent bytes of a request, or accepted bytes of
    /// responses and events. Bytes that it sends while it accepts none are not progress.
    var lastProgress: LoopInstant
    var state = State.vacant
    /// Invariant: a connection whose reading is paused has buffers; the end of its wait finds them.
    var buffers: ConnectionBuffers?
    var output = ConnectionOutput()
    /// The time at which the first byte of the current request arrived; for a body that takes
    /// longer than a request may, the beginning of the present period (``ConnectionDeadlines``).
    var requestBegan: LoopInstant?
    /// The peer has ended its output; the connection ends when all due bytes are sent.
    var peerIsFinished = false
    /// The head of the incomplete request was admitted (``RequestDispatcher/admitHead(of:on:)``).
    var hasAdmittedHead = false
    // Last, as the largest: a delivery reads the properties above, in two cache lines.
    var reader: RequestReader
    var repeatedHead = RepeatedHead()
    /// Of ``repeatedHead``; allocated for the connection's first repeated request.
    var repeatedTarget: RepeatedTarget?
    var identity = RequestIdentity()

    init(_ loop: LoopResources) {
        self.loop = loop
        reader = RequestReader(limits: loop.settings.requestLimits)
        lastProgress = loop.now
    }

    /// The connection's identifier in sessions.
    var token: UInt64 { id.token }

    var isReading: Bool { if case .reading = state { true } else { false } }

    var stream: EventStream? { if case .streaming(let stream) = state { stream } else { nil } }

    func makeBuffers() -> ConnectionBuffers {
        if let buffers { return buffers }
        let made = ConnectionBuffers()
        buffers = made
        return made
    }

    /// Keeps a complete request, or one of which the head is complete, until it is served. Returns
    /// false if the budget of all bodies is used up.
    func park(_ request: inout Request) -> Bool { keep(&request, as: .parked) }

    func keep(_ request: inout Request, as role: ConnectionBuffers.Role) -> Bool {
        makeBuffers().keep(
            &request, as: role, charging: loop.service.bodies, for: client(of: request))
    }

    /// The client to which the bytes of a request are charged. It is unknown before the head is
    /// complete; forwarded requests count for no client here.
    func client(of request: borrowing Request) -> PeerAddress {
        guard !reader.isReadingHead, SocketlessSlots.index(of: id) == nil else {
            return identity.peer
        }
        return loop.service.clientAddress.find(request.head, peer: identity.peer)
    }

    /// Releases empty buffers. Do not call it while reading is paused.
    func dropIdleBuffers() {
        if buffers?.isIdle ?? false, !hasUnsent { buffers = nil }
    }

    /// The listener that accepted the connection, perhaps on another loop.
    var listener: ListenerRole { identity.listener }

    // MARK: Life

    /// Starts a new connection in the slot.
    func begin(_ id: ConnectionID, peer: PeerAddress, from listener: ListenerRole) {
        self.id = id
        identity.listener = listener
        identity.peer = peer
        state = .reading
        lastProgress = loop.now
    }

    func close(_ how: ConnectionTable.Closing) {
        let id = id
        vacate()
        loop.table.close(id, how)
    }

    /// Ends the connection: its pending work is cancelled.
    func vacate() {
        if case .vacant = state { return }
        cancelWork()
        loop.service.gate(of: listener).ended(identity.peer)
        release()
        loop.counters.connectionsClosed += 1
    }

    func cancelWork() {
        switch state {
        case .streaming(let stream): stream.cancel()
        case .waiting(_, let options):
            options?.waitingIn?.forget(id.token)
            options?.joint?.cancel()
            options?.list?.cancel()
            options?.link?.abandon(on: loop)
        case .vacant, .reading, .closing: break
        }
    }

    /// Makes the slot vacant.
    func release() {
        loop.heap.freed(output.discard())
        buffers?.discard(loop)
        buffers = nil
        id = ConnectionID(slot: 0, generation: 0)
        reader = RequestReader(limits: loop.settings.requestLimits)
        forgetRepeatedHead()
        identity = RequestIdentity()
        state = .vacant
        requestBegan = nil
        peerIsFinished = false
        hasAdmittedHead = false
        loop.openCount -= 1
        loop.reportIfDrained()
    }

    /// Adopts the present settings of the loop. The slot may be vacant.
    ///
    /// - Parameter origins: The present indices of origins, by their earlier ones.
    func adoptSettings(origins: [AllowedOrigins.Index]) {
        if case .waiting(var request, let options) = state {
            request.origin = origins[Int(request.origin)]
            state = .waiting(request, options)
        }
        reader.limits = loop.settings.requestLimits
        if !loop.settings.hasAccessLog { identity.forgetLine() }
        // A repeated head would not be measured and checked again.
        forgetRepeatedHead()
        rearm()
    }

    /// Design: the client may have closed only its sending side, so a response that is due is still
    /// sent. A stream ends: otherwise the server would notice only at the next heartbeat that the
    /// reader of an idle stream has left. (nginx, Node and Go do the same.)
    func peerFinished() {
        peerIsFinished = true
        switch state {
        case .reading where !hasUnsent: close(.now)
        case .streaming: close(.now)
        case .vacant, .reading, .waiting, .closing: break
        }
    }

    func beginDraining() {
        switch state {
        case .vacant, .closing: break
        case .reading: if reader.isBetweenRequests, buffers == nil { close(.lingering) }
        case .waiting(_, let options):
            if options?.waitDeadline != nil { expireWait() }
            if case .forwarded(let forward, _)? = options?.link {
                loop.links?.outgoing.hurry(forward)
            }
        case .streaming(let stream):
            // Random, so that the clients do not reconnect at the same time.
            let retry = Double(loop.configuration.retry.milliseconds) * loop.random(in: 1...5)
            stream.end(retry: Int(retry))
        }
    }

    // MARK: Waiting

    /// The response to a request is due.
    ///
    /// - Parameter isWhole: False if its body has not arrived: after a response the
    ///   connection closes.
    func beginWaiting(
        _ request: borrowing Request, origin: AllowedOrigins.Index, isWhole: Bool = true
    ) {
        state = .waiting(
            RequestContext(request, on: self, origin: origin, isWhole: isWhole), nil)
    }

    func beginTrace(of request: borrowing Request, by tracer: any RequestTracer) {
        guard let route = request.route, route.isTraced,
            let span = tracer.begin(TracedRequest(request, route: route))
        else { return }
        identity.recordTrace(span.traceparent)
        setOptions { $0.trace(span) }
    }

    /// The span of the request whose response is due; nil if it is not traced.
    var span: (any RequestSpan)? {
        guard case .waiting(_, let options?) = state else { return nil }
        return options.span
    }

    /// Keeps the target of an admitted request if its head is repeated.
    func rememberTarget(of request: borrowing Request) {
        guard request.head.repetition != nil, !loop.settings.hasAccessLog,
            case .waiting(let context, _) = state
        else { return }
        repeatedTarget = RepeatedTarget(request, origin: context.origin)
    }

    func forgetRepeatedHead() {
        repeatedHead.forget()
        repeatedTarget = nil
    }

    /// Ends `?wait=settled`, a query to all loops, or a publication: the response is due now.
    func expireWait() {
        guard case .waiting(_, let options?) = state else { return }
        options.waitDeadline = nil
        options.endWait?(self)
        (options.waitingIn as? Session)?.stopWaiting(id.token)
    }
}
