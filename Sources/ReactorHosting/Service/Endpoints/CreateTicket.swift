internal import Feeds
internal import Wire

/// `POST /v1/tickets`: makes a ticket, with which one stream can be opened until the token expires.
/// It is for EventSource, which cannot send `Authorization` (ADR-0062).
enum CreateTicket: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        guard let access = request.access else { throw .authenticationOff }
        let wanted = try request.decodeBody(Wanted.self, else: "not_a_ticket")
        let service = connection.loop.service
        let stream = try stream(at: Array(wanted.stream.utf8), service.router)
        guard access.grants.permits(stream.route, session: stream.session?.text) else {
            throw .forbidden
        }
        guard access.token.count <= Ticket.tokenLimitBytes else { throw .tokenNotForTicket }
        let ticket = service.tickets.seal(access.token, for: stream)
        var time: [UInt8] = []
        Timestamp.append(milliseconds: access.expiresAtMilliseconds, to: &time)
        return .json(
            201, Created(ticket: ticket, expiresAt: String(decoding: time, as: UTF8.self)),
            fields: [("Referrer-Policy", "no-referrer")])
    }

    /// The stream that the body names. With a query the ticket is valid for that query only;
    /// without one each request chooses its own.
    private static func stream(
        at path: [UInt8], _ router: Router
    ) throws(Problem) -> TicketStream {
        let end = path.firstIndex(of: UInt8(ascii: "?"))
        let query = try end.map { (end) throws(Problem) in try Self.query(path[(end + 1)...]) }
        guard
            case .route(let route, let segment) = router.match(.get, path, 0..<(end ?? path.count))
        else { throw .notAStream }
        switch route.endpoint {
        case .service(let endpoint):
            guard endpoint is StreamSessions.Type || endpoint is ListSessions.Type else {
                throw .notAStream
            }
            return TicketStream(route: route, session: nil, query: query)
        case .session(let endpoint):
            guard endpoint is any StreamEndpoint.Type, let segment,
                let session = SessionID(path, segment)
            else { throw .notAStream }
            return TicketStream(route: route, session: session, query: query)
        }
    }

    /// - Throws: 422 for text that cannot be the query of a request, and for a query with a ticket.
    private static func query(_ text: ArraySlice<UInt8>) throws(Problem) -> [UInt8] {
        let isPlain = text.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
        guard isPlain, Ticket.rest(of: text).count == text.count else { throw .notAStream }
        return Array(text)
    }

    /// `{"stream":"/v1/sessions/<id>/pulses"}`.
    private struct Wanted: StrictBody {
        let stream: String

        enum CodingKeys: String, CodingKey, CaseIterable { case stream }
    }

    private struct Created: Encodable {
        let ticket: String
        let expiresAt: String
    }
}

extension Problem {
    fileprivate static let notAStream = Problem(
        422, "not_a_ticket",
        "stream is not the path of an event stream, such as /v1/sessions/meeting-7/pulses; write a "
            + "query as in the URL, without a ticket")
}
