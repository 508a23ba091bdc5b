/// A client that has been authenticated: its name, its permissions, and until when they hold.
public struct Principal: Sendable, Equatable {
    /// The name of the client, unique among the clients of the server.
    public let subject: String
    /// The requests that the client may make.
    public let grants: Grants
    /// Seconds since 1970. From then on the client's requests are refused, and its streams end.
    public let expiresAtSeconds: Int64

    /// Describes an authenticated client.
    ///
    /// - Parameters:
    ///   - subject: Its name.
    ///   - grants: The requests that it may make.
    ///   - expiresAtSeconds: Seconds since 1970; the client must authenticate again from then on.
    public init(subject: String, grants: Grants, expiresAtSeconds: Int64) {
        self.subject = subject
        self.grants = grants
        self.expiresAtSeconds = expiresAtSeconds
    }
}
