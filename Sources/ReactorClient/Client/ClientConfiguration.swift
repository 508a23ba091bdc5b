package import ClientMachine

/// The settings of a client.
public struct ClientConfiguration: Sendable {
    /// Returns a credential; nil or an error if there is none now: the client asks again later.
    public typealias CredentialFunction =
        @Sendable (CredentialRequest) async throws -> ClientCredential?

    /// Called before each attempt of a request or stream, unless a credential is at hand that lives
    /// for another 30 s, and after one was refused. Default: none; requests have no
    /// `Authorization`.
    public var credential: CredentialFunction?
    /// Where the actions are that are not done. Default: in memory.
    public var outbox: ClientOutbox
    /// The transport. Default: `CurlTransport` on Linux, `URLSessionTransport` on Apple platforms.
    public var transport: (any ClientTransport)?
    /// Whether the client is present in the sessions that it follows. Default: `.off`.
    public var presence: PresenceOption
    /// The bounds and times of the machine.
    package var limits = ClientLimits()

    /// The settings of a client.
    public init(
        credential: CredentialFunction? = nil, outbox: ClientOutbox = .memory,
        transport: (any ClientTransport)? = nil, presence: PresenceOption = .off
    ) {
        self.presence = presence
        self.credential = credential
        self.outbox = outbox
        self.transport = transport
    }
}

/// Whether a client is present in the sessions that it follows, and sees who else is.
public enum PresenceOption: Hashable, Sendable {
    case off
    /// The client gets ``RemoteSession/presence``, and counts as a reader without a name.
    case watching
    /// The same, with a name: 1 to 64 bytes of UTF-8 without control characters. With a token, it
    /// must be the token's subject; the service refuses any other name.
    case named(String)

    var machineValue: ClientPresence {
        switch self {
        case .off: .off
        case .watching: .watching
        case .named(let name): .named(name)
        }
    }
}

/// A question for a credential.
public struct CredentialRequest: Hashable, Sendable {
    /// The credential that the server has refused: a bearer token, or the whole value of the
    /// `Authorization` field. Nil if none was refused: any that is at hand will do.
    public let refused: String?

    init(_ authorization: String?) {
        let prefix = ClientCredential.bearerPrefix
        refused = authorization.map {
            $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0
        }
    }
}

/// The value of an `Authorization` field, and how long it can be used.
public struct ClientCredential: Hashable, Sendable {
    let authorization: String
    let lifetime: Duration?

    static let bearerPrefix = "Bearer "

    /// A bearer token (RFC 6750).
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - lifetime: the time from now after which it expires; nil if unknown: the client then asks
    ///     before every attempt.
    public static func bearer(_ token: String, lifetime: Duration? = nil) -> ClientCredential {
        ClientCredential(authorization: bearerPrefix + token, lifetime: lifetime)
    }

    /// A credential of another scheme, with its name: `Basic dXNlcjpwYXNz`.
    public static func authorization(
        _ value: String, lifetime: Duration? = nil
    ) -> ClientCredential {
        ClientCredential(authorization: value, lifetime: lifetime)
    }

    func machineValue(at uptime: Duration) -> Credential {
        Credential(authorization: authorization, expires: lifetime.map { uptime + $0 })
    }
}
