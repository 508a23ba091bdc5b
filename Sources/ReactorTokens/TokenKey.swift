internal import JWTKit

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
    public let algorithm: Algorithm
    private let verifier: any JWTAlgorithm

    /// - Throws: ``TokenKeyFailure`` if jwt-kit refuses the key.
    private init(
        id: String?, algorithm: Algorithm, _ add: (isolated JWTKeyCollection) -> Void
    ) async throws(TokenKeyFailure) {
        let keys = JWTKeyCollection()
        await add(keys)
        do {
            verifier = try await keys.getKey()
        } catch {
            throw TokenKeyFailure("the \(algorithm.rawValue) key cannot be used: \(error)")
        }
        self.id = id
        self.algorithm = algorithm
    }

    /// Whether the signature of these bytes is this key's.
    func verifies(_ signature: [UInt8], of signed: ArraySlice<UInt8>) -> Bool {
        // An error is a signature of a wrong length: no other input reaches the library.
        (try? verifier.verify(signature, signs: signed)) ?? false
    }
}

/// The reason why a key or a file of keys is not accepted.
public struct TokenKeyFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence without the key.
    public let description: String

    init(_ description: String) { self.description = description }
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
    ) async throws(TokenKeyFailure) -> TokenKey {
        guard bytes.count >= minimumSecretBytes else {
            throw TokenKeyFailure(
                "the secret has \(bytes.count) bytes; HS256 needs \(minimumSecretBytes) at least "
                    + "(RFC 7518 §3.2)")
        }
        let key = HMACKey(from: bytes)
        return try await TokenKey(id: id, algorithm: .hs256) {
            $0.add(hmac: key, digestAlgorithm: .sha256)
        }
    }

    /// A public key from a PEM file: RSA of 2048 to 8192 bits (RS256), P-256 (ES256) or Ed25519
    /// (EdDSA).
    ///
    /// - Parameter text: One block `BEGIN PUBLIC KEY`, or `BEGIN RSA PUBLIC KEY`.
    /// - Throws: ``TokenKeyFailure`` for anything else, above all for a private key.
    public static func pem(
        _ text: String, id: String? = nil
    ) async throws(TokenKeyFailure) -> TokenKey {
        guard !text.contains("PRIVATE KEY-----") else {
            throw TokenKeyFailure(
                "the PEM file contains a private key; the server needs the public key only")
        }
        let blocks = text.split(separator: "\n").filter { $0.hasPrefix("-----BEGIN ") }
        guard blocks.count == 1, blocks[0].contains("PUBLIC KEY-----") else {
            throw TokenKeyFailure("a PEM file must have one block, BEGIN PUBLIC KEY")
        }
        if let key = try? ES256PublicKey(pem: text) { return try await es256(key, id) }
        if let key = try? EdDSA.PublicKey(pem: text) { return try await edDSA(key, id) }
        if let key = try? Insecure.RSA.PublicKey(pem: text) { return try await rs256(key, id) }
        throw TokenKeyFailure(
            "the PEM file is no public key of RSA (2048 bits or more), P-256 or Ed25519")
    }

    static func es256(
        _ key: ES256PublicKey, _ id: String?
    ) async throws(TokenKeyFailure) -> TokenKey {
        try await TokenKey(id: id, algorithm: .es256) { $0.add(ecdsa: key) }
    }

    static func edDSA(
        _ key: EdDSA.PublicKey, _ id: String?
    ) async throws(TokenKeyFailure) -> TokenKey {
        try await TokenKey(id: id, algorithm: .edDSA) { $0.add(eddsa: key) }
    }

    static func rs256(
        _ key: Insecure.RSA.PublicKey, _ id: String?
    ) async throws(TokenKeyFailure) -> TokenKey {
        let modulus: Data
        do {
            modulus = try key.getKeyPrimitives().modulus
        } catch {
            throw TokenKeyFailure("the RSA key cannot be read: \(error)")
        }
        let bytes = modulus.drop { $0 == 0 }.count
        // RFC 7518 §3.3. The upper bound limits the time of one verification.
        guard (256...1_024).contains(bytes) else {
            throw TokenKeyFailure("the RSA key has \(bytes * 8) bits; use 2048 to 8192")
        }
        return try await TokenKey(id: id, algorithm: .rs256) {
            $0.add(rsa: key, digestAlgorithm: .sha256)
        }
    }
}
