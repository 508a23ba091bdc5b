import ClientMachine
import Feeds
import JSONCoding
import Reactors
import Sessions
import Storage
import Wire

@testable import ReactorHosting

/// One process of the server without sockets: real requests are parsed, real sessions carry them
/// out, and real responses leave.
///
/// Design: between the two is what `RequestDispatcher` and the endpoints do, for one loop and
/// without a connection table. Every step of the loop is a call of the simulation.
final class ServerProcess: SessionOutput {
    /// The clients' tokens, as the server knows them.
    struct Tokens {
        var areNeeded = false
        /// The end of each valid token, in milliseconds.
        var ends: [String: Int64] = [:]
    }

    let journal: ScriptedJournal
    let table: SessionTable
    private let inbox = Inbox()
    private let joints = JointMessages()
    private let isolation = TestIsolation()
    private let registration: Registration
    private let clock: WallClock
    private var calls: [UInt64: ServerCall] = [:]
    private var lastToken: UInt64 = 0
    var tokens: Tokens
    private static let router = Router()

    init(
        _ journal: ScriptedJournal, _ registration: Registration, _ clock: WallClock,
        _ limits: SessionLimits, _ tokens: Tokens
    ) {
        self.journal = journal
        self.registration = registration
        self.clock = clock
        self.tokens = tokens
        let (inbox, isolation) = (inbox, isolation)
        table = SessionTable(
            journal: journal, limits: limits, registrations: [registration],
            services: LoopServices(
                now: { clock.milliseconds }, hop: { inbox.put($0) },
                isolation: LoopIsolation(
                    check: { isolation.check() }, runAfterStop: { inbox.putLate($0) })))
        table.output = self
    }

    /// Those that are not over, in their order.
    var openCalls: [ServerCall] {
        calls.values.filter { $0.end == nil }.sorted { $0.token < $1.token }
    }

    // MARK: Rounds

    func endRound() {
        table.commit()
        _ = table.deliver()
        joints.collect(from: table)
    }

    /// Ends the oldest pending commit, with this result.
    func settle(_ failure: JournalFailure? = nil, isWritten: Bool = false) {
        if journal.pendingCount > 0 { journal.endNext(failure, isWritten: isWritten) }
        drainInbox()
        endRound()
    }

    func drainInbox() {
        repeat {
            while case let jobs = inbox.drain(), !jobs.isEmpty {
                for job in jobs { job(table) }
            }
        } while joints.deliver(to: table) || !inbox.isEmpty
    }

    func settleAll() {
        endRound()
        drainInbox()
        while journal.pendingCount > 0 || journal.askedCount > 0 {
            while journal.askedCount > 0 { journal.answer(at: 0) }
            settle()
        }
        table.deliverAll()
        joints.collect(from: table)
        drainInbox()
    }

    /// Ends streams whose clients' tokens have ended, and writes heartbeats.
    func pass(beats: Bool) {
        for call in openCalls {
            if let end = call.accessEnd, end <= clock.milliseconds { endAccess(of: call) }
            if beats { call.beat() }
            if case .sessions(let joint) = call.source { joint.stream.retry() }
        }
    }

    private func endAccess(of call: ServerCall) {
        var last: [UInt8] = []
        Response.appendProblemEvent(.tokenInvalid, to: &last)
        call.endStream(last)
    }

    /// Ends all streams as a server does that shuts down.
    func drain(retry: Int) {
        for call in openCalls where call.isStream {
            var last: [UInt8] = []
            EventEncoder.appendRetry(milliseconds: retry, to: &last)
            call.endStream(last)
        }
        table.save {}
        settleAll()
    }

    /// The process ends; the first commits that are pending were written.
    func die(writing count: Int) {
        journal.crash(writing: count)
        for call in calls.values {
            call.cancel()
            call.finish(.cut)
        }
        calls = [:]
        table.stop()
        drainInbox()
        inbox.close()
        for act in inbox.drainLate() { act() }
    }

    // MARK: SessionOutput

    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int {
        guard !ReaderToken.isRelay(subscriber) else {
            return table.relays.write(bytes, to: subscriber)
        }
        return calls[subscriber]?.write(bytes) ?? bytes.count
    }

    func reply(_ content: Reply.Content, to token: UInt64) {
        guard !ReaderToken.isRelay(token) else {
            return table.relays.reply(content, to: token) { RelayProblem(for: $0) }
        }
        guard let call = calls[token] else {
            if case .subscribed(let subscriber, _) = content.kind { subscriber.cancel() }
            return
        }
        if case .subscribed(let subscriber, let opening) = content.kind {
            return call.begin(subscriber, opening, retry: 3_000)
        }
        call.respond(Response(content, call.options, ("Durability", "none")))
    }

    func finish(_ subscriber: Subscriber) {
        guard !ReaderToken.isRelay(subscriber.id) else { return table.relays.finish(subscriber) }
        calls[subscriber.id]?.finish(.whole)
    }

    func refuse(_ subscriber: Subscriber) {
        subscriber.cancel()
        guard !ReaderToken.isRelay(subscriber.id) else { return }
        calls[subscriber.id]?.finish(.whole)
    }

    func client(of token: UInt64) -> WorkClient? { nil }

    // There is one loop.
    func move(
        _ subscriber: Subscriber, to loop: Int, _ opening: ReplicaOpening
    ) -> ReaderMove { .refused }
    func timeHasPassed() {}
    func report(_ failure: SessionFailure, of feed: Feed) {}

    // MARK: Requests

    /// The client has closed the connection.
    func forget(_ call: ServerCall) {
        // It may be one of an earlier process.
        if calls[call.token] === call { calls[call.token] = nil }
        call.cancel()
    }

    /// Serves a request. Its response is in the call, now or later.
    func serve(
        _ sent: ClientRequest, capacity: Int? = nil, patched: PatchedStream? = nil
    ) -> ServerCall {
        lastToken += 1
        let call = ServerCall(token: lastToken, capacity: capacity, patched: patched)
        calls[call.token] = call
        do throws(Problem) {
            var request = try Self.parse(sent)
            try admit(request, call)
            try dispatch(&request, call)
        } catch {
            call.respond(.problem(error))
        }
        return call
    }

    private static func parse(_ sent: ClientRequest) throws(Problem) -> Request {
        var text = "\(sent.method) \(sent.target) HTTP/1.1\r\nHost: localhost\r\n"
        for field in sent.fields { text += "\(field.name): \(field.value)\r\n" }
        if !sent.body.isEmpty { text += "Content-Length: \(sent.body.count)\r\n" }
        let bytes = Array((text + "\r\n").utf8) + sent.body
        var (reader, request, offset) = (RequestReader(limits: RequestLimits()), Request(), 0)
        do throws(RequestRefusal) {
            let progress = try reader.next(
                bytes.span, at: &offset, head: &request.head, body: &request.body)
            precondition(progress == .complete && offset == bytes.count, "a part of a request")
        } catch {
            throw Problem(error)
        }
        return request
    }

    private func admit(_ request: Request, _ call: ServerCall) throws(Problem) {
        guard tokens.areNeeded else { return }
        guard let text = request.head.text(of: .authorization) else { throw .tokenMissing }
        guard let end = tokens.ends[text], end > clock.milliseconds else { throw .tokenInvalid }
        call.accessEnd = end
    }

    private func dispatch(_ request: inout Request, _ call: ServerCall) throws(Problem) {
        let head = request.head
        guard
            case .route(let route, let segment) = Self.router.match(
                head.method, head.bytes, head.path)
        else { throw Problem(404, "unknown_path", "no resource has this path") }
        request.route = route
        request.segment = segment
        if route.operationID == "streamSessions" { return try streamSessions(request, call) }
        let id = try request.readSessionID()
        let found = table.find(id)
        guard case .notInMemory = found else {
            return try serve(request, route, SessionTarget(id: id, found: found), call)
        }
        let parked = request
        table.wake(id) { [unowned self] found in
            guard calls[call.token] === call else { return }
            do throws(Problem) {
                try serve(parked, route, SessionTarget(id: id, found: found), call)
            } catch {
                call.respond(.problem(error))
            }
        }
    }

    private func serve(
        _ request: Request, _ route: Route, _ target: SessionTarget, _ call: ServerCall
    ) throws(Problem) {
        switch route.operationID {
        case "postActions": try post(request, target, call)
        case "putSession": try put(request, target, call)
        case "readSession": try target.readable().read(version: nil, for: call.token)
        case "deleteSession": try target.session().end(for: call.token)
        // A client asks for pulses after a 204, without accepting a stream.
        case "streamEvents", "streamPulses": try stream(request, target, call)
        default: throw Problem(404, "unknown_path", "the simulated clients have no use for this")
        }
    }

    /// As `PostActions`.
    private func post(
        _ request: Request, _ target: SessionTarget, _ call: ServerCall
    ) throws(Problem) {
        let session = try target.session()
        try request.requireJSON()
        var post = ActionPost(body: ActionBody(request.body), token: call.token)
        post.waits = request.head.query != nil
        if request.head.range(of: .ifMatch) != nil {
            post.condition = .oneOf(try EntityTags(request.head, .ifMatch).strong)
        }
        post.key = request.head.text(of: .idempotencyKey)
        post.doneKeys = request.head.text(of: .idempotencyKeyDone).map { [$0] } ?? []
        do {
            try session.post(post)
        } catch {
            throw Problem(error, by: session.registration)
        }
    }

    /// As `PutSession`.
    private func put(
        _ request: Request, _ target: SessionTarget, _ call: ServerCall
    ) throws(Problem) {
        let wanted = try request.decodeBody(SessionBody.self, else: "not_a_session")
        guard wanted.reactor == registration.name else { throw .unknownReactor(wanted.reactor) }
        guard case .nothing = target.found else {
            return try target.session().acknowledgeExisting(for: call.token)
        }
        do {
            try table.create(target.id, registration, for: call.token)
        } catch {
            throw .quarantined(target.id.text, error)
        }
    }

    /// As `StreamEndpoint`.
    private func stream(
        _ request: Request, _ target: SessionTarget, _ call: ServerCall
    ) throws(Problem) {
        let session: any ReadableSession
        switch target.found {
        case .session(let present): session = present
        case .copy(let copy): session = copy
        case .ended where !request.accepts(.eventStream): throw .endedSession(target.id.text)
        case .ended: return call.respond(.noContent())
        case .quarantined(let fault):
            return call.respond(.endedStream(.quarantined(target.id.text, fault)))
        case .unreadable(let failure): return call.respond(.endedStream(.unreadable(failure)))
        case .noRoom, .overBudget: return call.respond(.endedStream(.noRoomForSession))
        case .elsewhere, .noNode:
            return call.respond(.endedStream(.moved(target.id.text)))
        case .nothing, .notInMemory: throw .unknownSession(target.id.text, to: nil)
        }
        try request.requireAccepted(.eventStream)
        call.options.wantsStream = true
        let query = try StreamQuery(StreamEvents.self, request, session.registration)
        session.subscribe(
            SubscriptionRequest(
                token: call.token, selection: query.selection, start: query.start))
    }

    /// As `StreamSessions`.
    private func streamSessions(_ request: Request, _ call: ServerCall) throws(Problem) {
        let query = try JointQuery(request, limit: 100)
        if query.vector?.isOver ?? false { return call.respond(.noContent()) }
        call.options.wantsStream = true
        let (kinds, pulses) = (query.kinds, query.pulses)
        call.open(
            JointCall(
                call,
                JointStream.Request(
                    sessions: query.sessions, vector: query.vector, start: query.start,
                    idsAreOwn: query.idsAreOwn, pulses: query.pulses
                ) { Self.choose($0, $1, kinds, pulses) }, joints, retry: 3_000))
    }

    private static func choose(
        _ id: SessionID, _ found: SessionLookup, _ kinds: EventKinds, _ pulses: [String]
    ) -> RelayChoice {
        if let session = found.readable {
            var (bits, known): (UInt64, [String]) = (0, [])
            for (index, name) in session.registration.pulses.enumerated() {
                let isNamed = pulses.contains(name)
                if isNamed { known.append(name) }
                if pulses.isEmpty || isNamed { bits |= 1 << UInt64(index) }
            }
            let selection = Selection(
                pulses: kinds.pulses ? bits : 0, wantsPulses: kinds.pulses,
                activities: kinds.activities, states: kinds.states ? .whole : .none)
            return .events(session, selection, knownPulses: known)
        }
        switch found {
        case .session, .copy, .nothing, .notInMemory: return .end(.unknown)
        case .ended: return .end(.deleted)
        case .quarantined(let fault): return .problem(RelayProblem(.quarantined(id.text, fault)))
        case .unreadable(let failure): return .problem(RelayProblem(.unreadable(failure)))
        case .noRoom, .overBudget: return .problem(RelayProblem(.noRoomForSession))
        case .elsewhere, .noNode: return .problem(RelayProblem(.moved(id.text)))
        }
    }
}
