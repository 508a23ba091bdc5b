internal import Feeds
internal import Sessions
internal import Storage

/// How a route's requests are served.
enum Endpoint: Sendable {
    case service(any ServiceEndpoint.Type)
    case session(any SessionEndpoint.Type)

    /// Whether the request is for an event stream, which never gets a status of 5xx
    /// (contract §3.2).
    func wantsStream(_ request: Request) -> Bool {
        switch self {
        case .service(let endpoint): endpoint.wantsStream(request)
        case .session(let endpoint): endpoint.wantsStream(request)
        }
    }
}

/// An operation of a row of ``Route/table``.
protocol RouteEndpoint: SendableMetatype {
    static var endpoint: Endpoint { get }
}

/// An operation that is served by the loop that received the request.
///
/// Design: endpoints are types without instances, so that a call costs neither a reference count
/// nor an allocation. Options that a later response needs are in the connection's
/// ``RequestOptions``.
protocol ServiceEndpoint: RouteEndpoint {
    /// Whether the request is served even if the round has used up its budget: probes measure
    /// whether the server responds. Default false.
    static var isProbe: Bool { get }

    /// Whether the response is an event stream. Default false.
    static func wantsStream(_ request: Request) -> Bool

    /// - Returns: The response, or nil if it follows later through ``HTTPConnection/respond(_:)``
    ///   or ``HTTPConnection/respondLater(_:)``.
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response?
}

/// An operation on one session. The connection is on the loop that owns the session, and
/// the session has been loaded if the journal has it, unless the endpoint requires no
/// session in memory.
protocol SessionEndpoint: RouteEndpoint {
    /// Whether it is for an event stream, which never gets 5xx (contract §3.2). Default false.
    static func wantsStream(_ request: Request) -> Bool

    /// Whether a session is loaded first; if not, it may be `notInMemory`. Default true.
    static var loadsSession: Bool { get }

    /// Whether it only reads, so that a node may serve it from a copy (ADR-0049). Default false.
    static func onlyReads(_ request: Request) -> Bool

    /// Whether a request for a session of another node is sent there (ADR-0050). Default false.
    static var isForwarded: Bool { get }

    /// - Returns: The response, or nil if it follows later: from the session, as a ``Reply``.
    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response?
}

extension ServiceEndpoint {
    static var endpoint: Endpoint { .service(Self.self) }
    static var isProbe: Bool { false }
    static func wantsStream(_ request: Request) -> Bool { false }
}

extension SessionEndpoint {
    static var endpoint: Endpoint { .session(Self.self) }
    static func wantsStream(_ request: Request) -> Bool { false }
    static var loadsSession: Bool { true }
    static func onlyReads(_ request: Request) -> Bool { false }
    static var isForwarded: Bool { false }
}

/// The session that a request names, and whether it exists.
struct SessionTarget {
    let id: SessionID
    let found: SessionLookup
    /// The client; nil if the server has no authenticator.
    var access: Access?

    /// Whether the session exists and the client may not know: its reactor is not granted, or is
    /// unknown and some are; or only its owner may know, who is another client or unknown.
    var isHidden: Bool {
        guard let access else { return false }
        let needsReactor = access.grants.reactors != nil && !access.isProgram
        switch found {
        case .session(let session):
            return isHidden(reactor: session.feed.reactor, owner: session.feed.owner)
        case .copy(let copy): return isHidden(reactor: copy.feed.reactor, owner: copy.feed.owner)
        case .quarantined: return needsReactor || needsOwner
        // A deleted session keeps only its id, so its reactor and owner are unknown.
        case .ended: return needsReactor || needsOwner
        case .elsewhere(_, let traits?):
            return isHidden(reactor: traits.reactor, owner: traits.owner)
        case .noNode(let traits, _): return isHidden(reactor: traits.reactor, owner: traits.owner)
        case .nothing, .notInMemory, .unreadable, .noRoom, .overBudget, .elsewhere: return false
        }
    }

    func isHidden(reactor: String, owner: ExactText?) -> Bool {
        guard let access else { return false }
        if access.grants.reactors != nil, !access.grants.permits(reactor: reactor) { return true }
        return needsOwner && owner != access.principal.identity
    }

    /// Whether the session is permitted to its owner only.
    var needsOwner: Bool {
        access.map { !$0.grants.permits(session: id.text) } ?? false
    }

    /// - Throws: The problem to respond with, if the session cannot be read.
    func readable() throws(Problem) -> any ReadableSession {
        if !isHidden, let readable = found.readable { return readable }
        return try session()
    }

    /// - Throws: The problem of a session that cannot be used.
    func session() throws(Problem) -> Session {
        guard !isHidden else { throw hidden }
        guard case .session(let session) = found else { throw problem }
        return session
    }

    /// The problem of a session that is hidden. Only the program itself may learn its reactor.
    var hidden: Problem {
        guard access?.isProgram ?? false, let reactor = found.reactor else {
            return .unknownSession(id.text, to: access)
        }
        return .otherReactor(id.text, reactor)
    }

    /// The problem if the session itself is required.
    var problem: Problem {
        switch found {
        case .ended: .endedSession(id.text)
        case .nothing: .unknownSession(id.text, to: access)
        case .quarantined(let fault): .quarantined(id.text, fault)
        case .unreadable(let failure): .unreadable(failure)
        case .noRoom, .notInMemory: .noRoomForSession
        case .overBudget: .tooMuchMemory
        case .session, .copy, .elsewhere: .moved(id.text)
        case .noNode(let traits, let version): .noNode(id.text, traits.reactor, version)
        }
    }
}

extension SessionLookup {
    fileprivate var reactor: String? {
        switch self {
        case .session(let session): session.feed.reactor
        case .copy(let copy): copy.feed.reactor
        case .elsewhere(_, let traits): traits?.reactor
        case .noNode(let traits, _): traits.reactor
        case .ended, .nothing, .notInMemory, .quarantined, .unreadable, .noRoom, .overBudget: nil
        }
    }
}
