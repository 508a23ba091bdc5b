internal import Storage

// Refusals of clients (RFC 6750 §3). No detail depends on a session.
extension Problem {
    private static func challenge(_ error: String? = nil) -> (name: String, value: String) {
        let error = error.map { ", error=\"\($0)\"" } ?? ""
        return ("WWW-Authenticate", "Bearer realm=\"reactor-server\"\(error)")
    }

    static let tokenMissing = Problem(
        401, "token_missing", "send a token: Authorization: Bearer <token>",
        fields: [challenge()])

    /// The reason is in the log, so that an attacker learns nothing.
    static let tokenInvalid = Problem(
        401, "token_invalid", "the token is not valid, or has expired",
        fields: [challenge("invalid_token")])

    static let forbidden = Problem(
        403, "forbidden", "the token does not grant this request",
        fields: [challenge("insufficient_scope")])

    static let tooManyTokens = Problem(
        temporary: 503, "too_busy",
        "nothing was applied: too many tokens are waiting to be verified")

    static let tokensUnavailable = Problem(
        temporary: 503, "tokens_unavailable",
        "nothing was applied: tokens cannot be verified at the moment")

    static let authenticationOff = Problem(
        403, "authentication_off",
        "this server does not authenticate its clients: nothing needs a ticket or a cookie")

    /// - Parameter fault: The predicate of the sentence.
    static func cookieInvalid(_ fault: String) -> Problem {
        Problem(
            401, "cookie_invalid",
            "the cookie __Host-reactor \(fault); PUT /v1/cookie sets it",
            fields: [challenge("invalid_token")])
    }

    static let originNotAllowed = Problem(
        403, "origin_not_allowed",
        "with a cookie, Origin must be https:// and this server's Host, or one of --allow-origin "
            + "other than *")

    static let tokenNotForCookie = Problem(
        422, "token_not_for_cookie",
        "the token is too long for a cookie, or has a character that a cookie cannot have")

    static func tooManySessions(of owner: ExactText, limit: Int) -> Problem {
        Problem(
            403, "too_many_sessions",
            "the client \(owner) has \(limit) sessions, which is the limit of "
                + "--subject-session-limit; delete one")
    }

    static let ticketRepeated = Problem(
        400, "ticket_repeated", "the query has more than one ticket")

    static let ticketBesideToken = Problem(
        400, "ticket_beside_token", "the request has a ticket and Authorization; send one of them")

    static let ticketNotAccepted = Problem(
        400, "ticket_not_accepted",
        "a ticket is accepted only by GET of an event stream; send Authorization: Bearer <token>")

    static let ticketUnknown = ticketInvalid(
        "the ticket was not made with a secret of this server, or is damaged")

    static let ticketElsewhere = ticketInvalid(
        "the ticket is for another stream, or another query of this one")

    /// EventSource does not connect again after it.
    private static func ticketInvalid(_ reason: String) -> Problem {
        Problem(
            401, "ticket_invalid", "\(reason); POST /v1/tickets makes a new one",
            fields: [challenge("invalid_token")])
    }

    static let tokenNotForTicket = Problem(
        422, "token_not_for_ticket",
        "the token has more than \(Ticket.tokenLimitBytes) bytes: its ticket would be too long for "
            + "a URL")
}
