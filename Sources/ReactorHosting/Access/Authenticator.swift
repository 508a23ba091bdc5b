/// Verifies the bearer tokens of requests.
///
/// A server with an authenticator refuses every request without a valid token, except for probes
/// and `/openapi.yaml`. The product `ReactorTokens` has one for JSON Web Tokens; for another
/// scheme, the host declares a type of its own.
///
/// The server calls it outside its event loops, and keeps the result for at most a minute. So a key
/// or a permission that is withdrawn stops working within a minute. The request waits for the call:
/// an authenticator that asks another service needs a time limit of its own.
public protocol Authenticator: Sendable {
    /// Verifies a token.
    ///
    /// - Parameter token: The text after `Bearer ` (RFC 6750): 1 to 8192 visible ASCII characters.
    /// - Returns: The client that the token identifies.
    /// - Throws: ``AuthenticationFailure`` if the token is not valid, or cannot be checked now.
    func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal

    /// The names of the keys that it verifies tokens with, for the log at the start and at each
    /// reload. No secrets. Default none.
    var keyNames: [String] { get }
}

extension Authenticator {
    /// None.
    public var keyNames: [String] { [] }
}

/// An authenticator that reads its keys from files that settings name.
package protocol FileAuthenticator: Authenticator {
    /// A hash of the file's bytes, for each setting that names a file. A reload compares hashes to
    /// find out whether a file has changed. They are valid in this process only.
    var files: [String: Int] { get }
}

/// The reason why a token was not accepted. It is logged and never sent to the client.
public enum AuthenticationFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The token is not valid: the request is refused with 401.
    ///
    /// - Parameter reason: One sentence without the token, or a part of it that is not verified.
    case invalid(_ reason: String)
    /// The token cannot be checked at the moment: the request is refused with 503, and a stream is
    /// ended so that the client connects again.
    ///
    /// - Parameter reason: One sentence without secrets.
    case unavailable(_ reason: String)

    /// The reason.
    public var description: String {
        switch self {
        case .invalid(let reason), .unavailable(let reason): reason
        }
    }
}
