internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Synchronization
internal import Wire

/// A request of the program that hosts the server.
///
/// Design (ADR-0082): it is a client's request without a socket. Its head is text, like that of a
/// request from another node. A connection without a socket serves it, on the loop of its session.
/// So keys, limits, loads, commits and forwarding work as for every request.
struct ProgramRequest: Sendable {
    let endpoint: Endpoint
    /// The session that serves it; nil for a request that any loop can serve.
    let session: SessionID?
    let access: Access
    let head: [UInt8]
    let body: [UInt8]

    /// - Parameters:
    ///   - target: The path and the query: visible ASCII.
    ///   - key: `Idempotency-Key`.
    init(
        _ method: String, _ target: String, _ endpoint: any RouteEndpoint.Type,
        for session: SessionID?, by access: Access, key: String? = nil, body: [UInt8] = []
    ) throws(HostedFailure) {
        self.endpoint = endpoint.endpoint
        self.session = session
        self.access = access
        self.body = body
        var text = "\(method) \(target) HTTP/1.1\r\nHost: program\r\nAccept: application/json\r\n"
        if !body.isEmpty { text += "Content-Type: application/json\r\n" }
        if let key {
            guard PostActions.isKey(key) else { throw HostedFailure(.badIdempotencyKey) }
            text += "Idempotency-Key: \(key)\r\n"
        }
        head = Array((text + "\r\n").utf8)
    }
}

/// The program's wait for the answer to a request. If it is released before the answer, because its
/// loop has stopped, the outcome is unknown.
final class ProgramCall: Sendable {
    typealias Waiter = CheckedContinuation<LinkAnswer, Never>

    // Why a lock: the call may be released on any thread.
    private let waiter: Mutex<Waiter?>

    init(_ waiter: Waiter) { self.waiter = Mutex(waiter) }

    func end(_ answer: LinkAnswer) {
        let waiter = waiter.withLock { $0.take() }
        waiter?.resume(returning: answer)
    }

    deinit { end(.endedEarly) }
}

extension LinkAnswer {
    fileprivate static let endedEarly = LinkAnswer(
        .problem(
            Problem(
                504, "outcome_unknown",
                "the request was applied once or not at all: the server has ended; send it again "
                    + "with its key")))
}

extension ServerLoop {
    func begin(_ request: ProgramRequest, _ call: ProgramCall) {
        guard let id = resources.socketless.allocate() else {
            return call.end(LinkAnswer(.problem(.tooManyOwn)))
        }
        makeSocketless(id).begin(id, request, call)
    }

    /// Ends the sessions, and the program's requests without an answer, when the server ends.
    func stopSessions() {
        for each in socketless { each.endProgramCall() }
        sessions.stop()
    }
}

extension HTTPConnection {
    fileprivate func begin(_ id: ConnectionID, _ request: ProgramRequest, _ call: ProgramCall) {
        beginSocketless(id)
        setOptions { $0.call = call }
        respondLater { () throws(Problem) in
            try RequestDispatcher.serve(request, on: self)
            return nil
        }
    }

    func end(_ call: ProgramCall, _ answer: LinkAnswer) {
        loop.socketless.free(id)
        release()
        call.end(answer)
    }

    fileprivate func endProgramCall() {
        guard case .waiting(_, let options?) = state, let call = options.call else { return }
        // If the request is not parked, the session has it.
        var mayBeApplied = buffers?.parked == nil
        if case .forwarded(let forward, _)? = options.link, case .sent = forward.place {
            mayBeApplied = true
        }
        cancelWork()
        end(call, mayBeApplied ? .endedEarly : LinkAnswer(.problem(.draining)))
    }
}

extension RequestDispatcher {
    fileprivate static func serve(
        _ own: ProgramRequest, on connection: HTTPConnection
    ) throws(Problem) {
        var request = Request()
        do throws(RequestRefusal) {
            request.head = try LinkRequest(waitMilliseconds: .max, head: own.head, body: [])
                .readHead(limits: connection.loop.settings.requestLimits)
        } catch {
            throw Problem(error)
        }
        request.body = own.body
        request.access = own.access
        switch own.endpoint {
        case .service(let endpoint):
            if let response = try endpoint.respond(to: request, on: connection) {
                connection.respond(response)
            }
        case .session(let endpoint):
            guard let session = own.session else { throw .tooManyOwn }
            try serve(&request, endpoint, for: session, on: connection)
        }
    }
}

extension Access {
    /// The access of the program itself. It may do everything.
    ///
    /// - Parameters:
    ///   - subject: The client for whom it acts.
    ///   - reactors: The names that the session's reactor may have; nil for any.
    convenience init(program subject: String?, reactors: Set<String>? = nil) {
        var grants = Grants.all
        grants.reactors = reactors
        let principal = Principal(subject: subject ?? "", grants: grants, expiresAtSeconds: .max)
        self.init("", principal, at: 0, isProgram: true)
    }
}

extension Problem {
    static let badIdempotencyKey = Problem(
        400, "bad_idempotency_key", "Idempotency-Key must be 1 to 255 visible ASCII characters")

    fileprivate static let tooManyOwn = Problem(
        temporary: 503, "too_busy",
        "nothing was applied: too many requests without a connection are under way")
}
