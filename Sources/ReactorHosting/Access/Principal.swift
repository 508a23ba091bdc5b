package import Storage

/// A client that has been authenticated: its name, its permissions, and until when they hold.
public struct Principal: Sendable, Equatable {
    /// The name of the client, unique among the clients of the server. Names that differ in a byte
    /// are two clients, also where Swift's `==` says that the texts are equal.
    public var subject: String { identity.text }
    /// The name as it is compared.
    package let identity: ExactText
    /// The requests that the client may make.
    public let grants: Grants
    /// Seconds since 1970. From then on the client's requests are refused, and its streams end.
    public let expiresAtSeconds: Int64

    /// Describes an authenticated client.
    ///
    /// - Parameters:
    ///   - subject: Its name: 1 to 255 bytes without control characters. With any other name the
    ///     token counts as invalid.
    ///   - grants: The requests that it may make.
    ///   - expiresAtSeconds: Seconds since 1970; the client must authenticate again from then on.
    public init(subject: String, grants: Grants, expiresAtSeconds: Int64) {
        identity = ExactText(subject)
        self.grants = grants
        self.expiresAtSeconds = expiresAtSeconds
    }

    /// The fault of a name, as the predicate of a sentence; nil if the name is accepted.
    ///
    /// A control character would break lines of logs; a line feed separates the parts of an owned
    /// idempotency key; PostgreSQL stores no text with NUL.
    package static func fault(inSubject subject: String) -> String? {
        guard (1...255).contains(subject.utf8.count) else { return "does not have 1 to 255 bytes" }
        let hasControl = subject.unicodeScalars.contains {
            $0.properties.generalCategory == .control
        }
        return hasControl ? "contains a control character" : nil
    }
}
