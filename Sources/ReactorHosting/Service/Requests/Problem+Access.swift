// Refusals of clients (RFC 6750 §3). No detail depends on a session.
extension Problem {
    static let tokenMissing = Problem(
        401, "token_missing", "send a token: Authorization: Bearer <token>",
        fields: [("WWW-Authenticate", "Bearer realm=\"reactor-server\"")])

    /// The reason is in the log, so that an attacker learns nothing.
    static let tokenInvalid = Problem(
        401, "token_invalid", "the token is not valid, or has expired",
        fields: [
            ("WWW-Authenticate", "Bearer realm=\"reactor-server\", error=\"invalid_token\"")
        ])

    static let forbidden = Problem(
        403, "forbidden", "the token does not grant this request",
        fields: [
            ("WWW-Authenticate", "Bearer realm=\"reactor-server\", error=\"insufficient_scope\"")
        ])

    static let tooManyTokens = Problem(
        503, "too_busy", "nothing was applied: too many tokens wait for their verification",
        fields: [("Retry-After", "1")])

    static let tokensUnavailable = Problem(
        503, "tokens_unavailable", "nothing was applied: tokens cannot be verified at the moment",
        fields: [("Retry-After", "1")])
}
