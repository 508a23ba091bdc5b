/// The conditions that a token must meet besides a valid signature.
public struct TokenRules: Sendable, Equatable {
    /// The required `iss`; nil to accept any.
    public var issuer: String?
    /// The names of this server in `aud`, of which a token must contain one. If it is empty, a
    /// token with an `aud` is refused: it is meant for another server (RFC 7519 §4.1.3).
    public var audiences: [String]
    /// The permitted difference between the clocks of the issuer and of this machine, in seconds;
    /// it applies to `exp`, `nbf` and `iat`. 0 to 300; other values are clamped. Default 30.
    public var leewaySeconds: Int64 {
        didSet { leewaySeconds = Self.clamped(leewaySeconds) }
    }
    /// The claim that contains the grants. Default `reactor`.
    public var grantsClaim: String

    /// The largest token in bytes; a larger one is refused.
    public static let tokenLimitBytes = 8_192

    /// Describes the conditions; see the properties.
    public init(
        issuer: String? = nil, audiences: [String] = [], leewaySeconds: Int64 = 30,
        grantsClaim: String = "reactor"
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.leewaySeconds = Self.clamped(leewaySeconds)
        self.grantsClaim = grantsClaim
    }

    private static func clamped(_ seconds: Int64) -> Int64 { min(max(seconds, 0), 300) }
}
