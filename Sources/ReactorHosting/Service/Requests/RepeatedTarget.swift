internal import Feeds
internal import Sockets
internal import Wire

/// The session, the route and the client of a head that a connection repeats (``RepeatedHead``).
///
/// Why: they depend on nothing but the head and the settings. Finding them again costs 1500
/// instructions of each POST, and with tokens much more.
///
/// A connection has one only for a request that was admitted, and only while no line of a log needs
/// the head. It is dropped when settings change.
final class RepeatedTarget {
    let repetition: UInt64
    let route: Route
    let endpoint: any SessionEndpoint.Type
    let segment: Range<Int>?
    let session: SessionID
    let origin: AllowedOrigins.Index
    let access: Access?

    /// Nil for a head that is not repeated, has names for the log, or is not for a session.
    init?(_ request: borrowing Request, origin: AllowedOrigins.Index) {
        guard let repetition = request.head.repetition, let route = request.route,
            case .session(let endpoint) = route.endpoint, let session = request.sessionID,
            request.head.range(of: .xRequestID) == nil,
            request.head.range(of: .traceparent) == nil
        else { return nil }
        self.repetition = repetition
        self.route = route
        self.endpoint = endpoint
        segment = request.segment
        self.session = session
        self.origin = origin
        access = request.access
    }

    /// Whether the head is the same, and the client need not be verified again.
    func applies(to head: borrowing RequestHead, on loop: LoopResources) -> Bool {
        guard head.repetition == repetition else { return false }
        guard let access else { return true }
        return loop.table.wallClockMilliseconds < access.verifyAgainAtMilliseconds
    }
}
