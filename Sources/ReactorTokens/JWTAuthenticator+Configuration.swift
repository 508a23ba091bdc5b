public import ReactorHosting

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

// The settings `--auth jwt` and `--jwt-…`.
extension JWTAuthenticator {
    /// The settings' authenticator; nil unless ``Configuration/authentication`` is `jwt`.
    ///
    /// ```swift
    /// await ReactorServer.main(
    ///     hosting: [Hosted("alerts") { Alerts() }], authenticating: JWTAuthenticator.configured)
    /// ```
    ///
    /// - Throws: ``TokenKeyFailure`` if a file cannot be read, contains no valid key, or there is
    ///   none; for a file without `jwt`; and in a build without the package's trait `Tokens`.
    public static func configured(
        by configuration: Configuration
    ) async throws -> (any Authenticator)? {
        guard configuration.authentication == .jwt else {
            let paths = [configuration.tokenSecretPath, configuration.tokenKeyPath]
            // A server that serves everyone, against the intention of its operator.
            guard paths.allSatisfy({ $0 == nil }) else {
                throw TokenKeyFailure("a key of tokens is set without --auth jwt")
            }
            return nil
        }
        guard SignatureVerifier.isBuilt else { throw TokenKeyFailure.notBuilt }
        let (keys, files) = try keys(configuration)
        guard !keys.isEmpty else {
            throw TokenKeyFailure(
                "--auth jwt needs a key: --jwt-secret-file or --jwt-key-file")
        }
        var authenticator = try JWTAuthenticator(
            keys: keys,
            rules: TokenRules(
                issuer: configuration.tokenIssuer, audiences: configuration.tokenAudiences,
                leewaySeconds: configuration.tokenLeewaySeconds,
                grantsClaim: configuration.tokenGrantsClaim))
        authenticator.files = files
        return authenticator
    }

    private static func keys(
        _ configuration: Configuration
    ) throws(TokenKeyFailure) -> (keys: [TokenKey], files: [String: Int]) {
        var keys: [TokenKey] = []
        var files: [String: Int] = [:]
        if let path = configuration.tokenSecretPath {
            let bytes = try read(path, "--jwt-secret-file")
            files["jwt-secret-file"] = bytes.hashValue
            let lines = SecretLines(bytes)
            keys += try named(path) { () throws(TokenKeyFailure) in
                try secrets(lines)
            }
            lines.reportCarriageReturns(in: path, configuration)
        }
        if let path = configuration.tokenKeyPath {
            let bytes = try read(path, "--jwt-key-file")
            files["jwt-key-file"] = bytes.hashValue
            keys += try named(path) { () throws(TokenKeyFailure) in
                try publicKeys(bytes)
            }
        }
        return (keys, files)
    }

    /// The keys of a JWKS file, or the key of a PEM file. Both have only public keys. A file that
    /// is read as the other kind has no keys.
    private static func publicKeys(
        _ bytes: [UInt8]
    ) throws(TokenKeyFailure) -> [TokenKey] {
        // RFC 7517 §5: a set is a JSON object.
        if bytes.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "{") {
            return try TokenKey.set(json: bytes)
        }
        return [try .pem(String(decoding: bytes, as: UTF8.self))]
    }

    private static func secrets(
        _ lines: SecretLines
    ) throws(TokenKeyFailure) -> [TokenKey] {
        if let short = lines.tooShort {
            throw TokenKeyFailure(
                "the secret \(short.number) has \(short.bytes) bytes; HS256 needs at "
                    + "least \(SecretLines.minimumBytes) (RFC 7518 §3.2)")
        }
        var keys: [TokenKey] = []
        for secret in lines.secrets { keys.append(try .secret(secret)) }
        return keys
    }

    /// The maximum size of a file with keys.
    private static let fileLimitBytes = 1 << 20

    private static func read(
        _ path: String, _ option: String
    ) throws(TokenKeyFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = Array(try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw TokenKeyFailure("\(option): \(path) cannot be read")
        }
        guard bytes.count <= fileLimitBytes else {
            throw TokenKeyFailure("\(option): \(path) is larger than a megabyte")
        }
        return bytes
    }

    private static func named<Value: Sendable>(
        _ path: String, _ make: () throws(TokenKeyFailure) -> Value
    ) throws(TokenKeyFailure) -> Value {
        do {
            return try make()
        } catch {
            throw TokenKeyFailure("\(path): \(error)")
        }
    }
}
