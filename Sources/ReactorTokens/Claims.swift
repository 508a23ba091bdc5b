internal import JSONCoding
internal import ReactorHosting

/// The claims of a verified token (RFC 7519 §4.1), checked one after the other.
struct Claims {
    private let claims: JSONValue
    private let rules: TokenRules
    private let now: Int64

    init(_ claims: JSONValue, _ rules: TokenRules, now: Int64) {
        self.claims = claims
        self.rules = rules
        self.now = now
    }

    /// The end of the year 9999. A larger number is a mistake, such as milliseconds.
    private static let lastSecond: Int64 = 253_402_300_799

    /// - Throws: ``AuthenticationFailure/invalid(_:)`` at the first claim that is not met.
    func principal() throws(AuthenticationFailure) -> Principal {
        let end = try end()
        try checkTimes()
        try checkIssuer()
        try checkAudience()
        let subject = try subject()
        guard let claim = claims[rules.grantsClaim] else {
            throw .invalid("the token has no claim \"\(rules.grantsClaim)\" with grants")
        }
        let grants = try Grants(claim: claim, named: rules.grantsClaim)
        return Principal(subject: subject, grants: grants, expiresAtSeconds: end)
    }

    /// `exp` and the leeway.
    private func end() throws(AuthenticationFailure) -> Int64 {
        guard let seconds = try seconds("exp", .down) else {
            throw .invalid("the token has no exp")
        }
        let end = seconds + rules.leewaySeconds
        guard now < end else { throw .invalid("the token has expired") }
        return end
    }

    private func checkTimes() throws(AuthenticationFailure) {
        if let start = try seconds("nbf", .up), start > now + rules.leewaySeconds {
            throw .invalid("the token is not valid yet (nbf)")
        }
        if let issued = try seconds("iat", .up), issued > now + rules.leewaySeconds {
            throw .invalid("the token was issued in the future (iat)")
        }
    }

    private func checkIssuer() throws(AuthenticationFailure) {
        guard let issuer = rules.issuer else { return }
        guard claims["iss"] == .string(issuer) else {
            throw .invalid("the token's iss is not \"\(issuer)\"")
        }
    }

    private func checkAudience() throws(AuthenticationFailure) {
        let audiences: [JSONValue]
        switch claims["aud"] {
        case nil where rules.audiences.isEmpty: return
        case nil: throw .invalid("the token has no aud")
        case .string(let text)?: audiences = [.string(text)]
        case .array(let elements)?: audiences = elements
        default: throw .invalid("the token's aud is neither a string nor an array")
        }
        guard audiences.allSatisfy({ $0.string != nil }) else {
            throw .invalid("the token's aud contains a value that is not a string")
        }
        guard audiences.contains(where: rules.audiences.map(JSONValue.string).contains) else {
            throw .invalid(
                rules.audiences.isEmpty
                    ? "the token has an aud, but no audience is configured"
                    : "the token's aud does not contain this server")
        }
    }

    private func subject() throws(AuthenticationFailure) -> String {
        guard let subject = claims["sub"]?.string else { throw .invalid("the token has no sub") }
        if let fault = Principal.fault(inSubject: subject) {
            throw .invalid("the token's sub \(fault)")
        }
        return subject
    }

    /// A NumericDate, 0 or more, which may have a fraction (RFC 7519 §2); nil without the claim.
    ///
    /// - Parameter rule: Rounds a fraction so that the token is valid for less time.
    private func seconds(
        _ name: String, _ rule: FloatingPointRoundingRule
    ) throws(AuthenticationFailure) -> Int64? {
        guard let claim = claims[name] else { return nil }
        // A Double represents each whole second exactly.
        guard case .number(let text) = claim, let seconds = Double(text)?.rounded(rule),
            (0...Double(Self.lastSecond)).contains(seconds)
        else {
            throw .invalid(
                "the token's \(name) is not a number of seconds from 0 to \(Self.lastSecond)")
        }
        return Int64(seconds)
    }
}
