internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// A request: its route, the parameter in its path, its fields and its body.
///
/// Design: a value that is moved from the parser to the endpoint, to the connection's buffers while
/// its session is read from the journal, or to another loop. Its buffers are from the loop's
/// ``BufferPool`` and return there after it was served.
struct Request: Sendable {
    var head = RequestHead()
    var body: [UInt8] = []
    /// The body as ``LargeBodies`` has examined it; nil for a body that is examined
    /// when it is used.
    var examined: ActionBody?
    /// Nil if no row of the table matches.
    var route: Route?
    /// The path segment that matches the one in braces, as a range of the head's bytes.
    var segment: Range<Int>?
    /// The client; nil if the server has no authenticator, and for a route that anyone may use.
    var access: Access?
    private(set) var sessionID: SessionID?

    /// The bytes of memory that the request takes while it waits.
    var footprintBytes: Int {
        let body = body.isEmpty ? 0 : body.capacity
        return head.bytes.count + body + (examined?.scanBytes ?? 0)
    }

    /// Adopts the parts that were found for an equal head.
    mutating func adopt(_ target: RepeatedTarget) {
        route = target.route
        segment = target.segment
        sessionID = target.session
        access = target.access
    }

    /// Reads the session id in the path.
    ///
    /// Why no escapes: an id never needs one, and an escaped one would evade a proxy's rules.
    mutating func readSessionID() throws(Problem) -> SessionID {
        let segment = segment ?? 0..<0
        if let route, route.namesTopic { return try readTopic(segment) }
        // Why not the head as a whole: passing a part of a mutable value copies it.
        let id =
            if let id = SessionID(head.bytes, segment) { id } else {
                throw Problem(
                    400, "bad_session_id",
                    "a session id has 1 to 128 characters of A-Z a-z 0-9 _ -, and no escapes")
            }
        sessionID = id
        return id
    }

    /// Reads the topic in the path, and returns the id of its session.
    private mutating func readTopic(_ segment: Range<Int>) throws(Problem) -> SessionID {
        let name = head.text(segment)
        guard let id = SessionID(topic: name) else {
            throw Problem(
                400, "bad_topic",
                "a topic's name has 1 to 127 visible characters of ASCII, and no percent-encoding; "
                    + "\(name) has not")
        }
        sessionID = id
        return id
    }
}

/// The properties of a request on which its response depends.
struct RequestContext: Sendable {
    /// Nil if no row of the table matches, and for bytes that are not a request.
    let route: Route?
    let isHead: Bool
    /// Whether the connection closes after the response.
    let closes: Bool
    let minorVersion: Int
    var origin: AllowedOrigins.Index
    /// The time at which the request was complete.
    let since: LoopInstant

    init(
        _ request: borrowing Request, on connection: HTTPConnection, origin: AllowedOrigins.Index,
        isWhole: Bool = true
    ) {
        let loop = connection.loop
        route = request.route
        isHead = request.head.method == .head
        // A connection of the operations address leaves a session's loop: its probes must not wait.
        let leaves = connection.listener == .operations && request.route?.isServedBySession ?? false
        closes = !request.head.keepsAlive || !isWhole || loop.service.isDraining || leaves
        minorVersion = request.head.minorVersion
        self.origin = origin
        since = loop.now
    }

    /// For bytes that are not a request: the beginning of the next request is unknown.
    init(malformedSince since: LoopInstant) {
        route = nil
        isHead = false
        closes = true
        minorVersion = 1
        origin = 0
        self.since = since
    }
}

/// Rarely used options of a request, for later responses. Allocated only if there are any.
final class RequestOptions {
    /// The end of `?wait=settled`, of a query to all loops, or of a publication.
    var waitDeadline: LoopInstant?
    /// The session or copy that responds later: when effects have ended, or the journal was read.
    var waitingIn: (any ReadableSession)?
    /// Exists until the response or the end of the connection, for work on other loops.
    var wait: Wait?
    /// The node that the client has reached ends: `?wait=settled` waits for nothing.
    var isHurried = false
    /// Responds without the loops or the sessions that are late.
    var endWait: ((HTTPConnection) -> Void)?
    /// `If-None-Match`: the states that the client has.
    var knownTags: EntityTags?
    /// The seconds since the state that is read was confirmed to be the newest; nil: it is.
    var age: Int64?
    /// The request publishes to a topic. The response counts the sessions that have the value.
    var isPublication = false
    var heartbeatIsEvent = false
    /// The response is an event stream unless the request is refused.
    var wantsStream = false
    /// The stream of several sessions that has not begun.
    var joint: JointConnection?
    /// A stream that will follow a list, before it begins.
    var list: ListConnection?
    /// The end of the client's token, after which a stream ends.
    var accessEnd: LoopInstant?
    /// Nil for a request that concerns this node alone.
    var link: LinkPart?
    /// The program's wait for the response; nil for a request that is not the program's.
    var call: ProgramCall?
    /// Whether the request came over a link and changes nothing.
    var onlyReads = false
    var traceparent: String?
    private(set) var span: (any RequestSpan)?

    final class Wait: Sendable {}

    /// A connection that closes before the response ends the span.
    deinit { endSpan(status: nil) }

    func trace(_ span: any RequestSpan) { self.span = span }

    func endSpan(status: Int?, _ problem: String? = nil) {
        guard let span else { return }
        self.span = nil
        span.end(status: status, problem: problem)
    }

    /// Takes the span away from a request that is served elsewhere.
    func takeSpan() -> (any RequestSpan)? {
        defer { span = nil }
        return span
    }
}
