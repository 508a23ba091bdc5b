public import ReactorHosting

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// Verifies JSON Web Tokens (RFC 7519) that are signed with one of the configured keys.
///
/// ```swift
/// let key = try TokenKey.secret(secret)
/// let tokens = try JWTAuthenticator(keys: [key], rules: TokenRules(audiences: ["reactor-server"]))
/// await ReactorServer.main(hosting: [Hosted("alerts") { Alerts() }], authenticator: tokens)
/// ```
///
/// A token must have a valid signature of a configured key and its algorithm, `exp`, `sub`, the
/// claim with the grants, and must meet ``TokenRules``. It is refused if it brings a key or a place
/// to find one (`jwk`, `jku`, `x5u`, `x5c`), has `crit`, or is not strict JSON in strict base64url.
public struct JWTAuthenticator: Authenticator, FileAuthenticator {
    private let keys: [TokenKey]
    /// Empty if the keys are not from files.
    package internal(set) var files: [String: Int] = [:]
    private let rules: TokenRules
    /// Seconds since 1970.
    private let now: @Sendable () -> Int64

    /// Verifies tokens with these keys.
    ///
    /// - Parameters:
    ///   - keys: 1 to 64 keys. A token's `kid` selects the keys of that name and those without one;
    ///     a token without it is tried with all keys of its algorithm.
    ///   - rules: The conditions besides the signature.
    /// - Throws: ``TokenKeyFailure`` for another number of keys.
    public init(keys: [TokenKey], rules: TokenRules = TokenRules()) throws(TokenKeyFailure) {
        try self.init(keys: keys, rules: rules) { Int64(Date().timeIntervalSince1970) }
    }

    package init(
        keys: [TokenKey], rules: TokenRules, now: @escaping @Sendable () -> Int64
    ) throws(TokenKeyFailure) {
        guard (1...TokenKey.maximumKeys).contains(keys.count) else {
            throw TokenKeyFailure("\(keys.count) keys are configured; 1 to 64 are allowed")
        }
        self.keys = keys
        self.rules = rules
        self.now = now
    }

    /// The algorithm of each key, and its `kid` if it has one.
    public var keyNames: [String] {
        keys.map { key in key.algorithm.rawValue + (key.id.map { " \($0)" } ?? "") }
    }

    /// Verifies a token; see ``Authenticator``.
    public func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal
    {
        let token = try CompactToken(token)
        let candidates = keys.filter { key in
            guard let wanted = token.keyID, let id = key.id else { return true }
            return id.utf8.elementsEqual(wanted.utf8)
        }
        guard !candidates.isEmpty else { throw .invalid("no configured key has the token's kid") }
        let suitable = candidates.filter { $0.algorithm == token.algorithm }
        guard !suitable.isEmpty else {
            throw .invalid("the token's alg is not that of a configured key")
        }
        guard suitable.contains(where: { $0.verifies(token.signature, of: token.signed) }) else {
            throw .invalid("the token's signature is not that of a configured key")
        }
        return try Claims(try token.claims(), rules, now: now()).principal()
    }
}
