/// A key that verifies tokens, and the one algorithm for which it is used.
///
/// Design: the algorithm belongs to the key. A token that names another one is refused, so a public
/// key never becomes the secret of an HMAC (RFC 8725 §3.1).
public struct TokenKey: Sendable {
    /// The algorithms of RFC 7518 and RFC 8037 that are supported.
    public enum Algorithm: String, Sendable, CaseIterable {
        /// HMAC with SHA-256 and a shared secret.
        case hs256 = "HS256"
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
        /// ECDSA with the curve P-256 and SHA-256.
        case es256 = "ES256"
        /// Ed25519.
        case edDSA = "EdDSA"
    }

    /// The name that a token's `kid` may select; nil for a key without one.
    public let id: String?
    /// The only algorithm for which the key is used.
    public var algorithm: Algorithm { verifier.algorithm }
    private let verifier: SignatureVerifier

    init(id: String?, _ verifier: SignatureVerifier) {
        self.id = id
        self.verifier = verifier
    }

    func verifies(_ signature: [UInt8], of signed: ArraySlice<UInt8>) -> Bool {
        verifier.verifies(signature, of: signed)
    }
}

/// The reason why a key or a file of keys is not accepted.
public struct TokenKeyFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence without the key.
    public let description: String

    init(_ description: String) { self.description = description }

    /// In a build without cryptography.
    static let notBuilt = TokenKeyFailure(
        "this program cannot verify tokens: it was built without the trait Tokens of the package "
            + "reactor-server")
}

// Keys that are not in a set.
extension TokenKey {
    /// The smallest secret: as long as the hash (RFC 7518 §3.2).
    static let minimumSecretBytes = 32

    /// An HS256 key.
    ///
    /// - Parameter bytes: The secret, 32 bytes at least: as long as the hash (RFC 7518 §3.2).
    /// - Throws: ``TokenKeyFailure`` for a shorter secret.
    public static func secret(
        _ bytes: [UInt8], id: String? = nil
    ) throws(TokenKeyFailure) -> TokenKey {
        guard bytes.count >= minimumSecretBytes else {
            throw TokenKeyFailure(
                "the secret has \(bytes.count) bytes; HS256 needs at least \(minimumSecretBytes) "
                    + "(RFC 7518 §3.2)")
        }
        return TokenKey(id: id, try .secret(bytes))
    }

    /// From a PEM file: RSA of 2048 to 8192 bits (RS256), P-256 (ES256) or Ed25519 (EdDSA).
    ///
    /// - Parameter text: One block `BEGIN PUBLIC KEY`, or `BEGIN RSA PUBLIC KEY`.
    /// - Throws: ``TokenKeyFailure`` for anything else, above all for a private key.
    public static func pem(
        _ text: String, id: String? = nil
    ) throws(TokenKeyFailure) -> TokenKey {
        guard !text.contains("PRIVATE KEY-----") else {
            throw TokenKeyFailure(
                "the PEM file contains a private key; the server needs the public key only")
        }
        let blocks = text.split(separator: "\n").filter { $0.hasPrefix("-----BEGIN ") }
        guard blocks.count == 1, blocks[0].contains("PUBLIC KEY-----") else {
            throw TokenKeyFailure("a PEM file must have one block, BEGIN PUBLIC KEY")
        }
        guard let verifier = try SignatureVerifier.pem(text) else {
            throw TokenKeyFailure(
                "the PEM file is not a public key of RSA (2048 bits or more), P-256 or Ed25519")
        }
        return TokenKey(id: id, verifier)
    }
}
