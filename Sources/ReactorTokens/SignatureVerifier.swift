// Design: this is the only file with cryptography. A build without the package's trait `Tokens` has
// no jwt-kit, and no keys: each way to make a key throws an error that says so.

#if Tokens || Complete
    internal import JWTKit

    #if canImport(FoundationEssentials)
        internal import FoundationEssentials
    #else
        internal import Foundation
    #endif

    struct SignatureVerifier: Sendable {
        static var isBuilt: Bool { true }

        let algorithm: TokenKey.Algorithm
        private let verifier: any JWTAlgorithm

        private init(
            _ algorithm: TokenKey.Algorithm, _ add: (isolated JWTKeyCollection) -> Void
        ) async throws(TokenKeyFailure) {
            let keys = JWTKeyCollection()
            await add(keys)
            do {
                verifier = try await keys.getKey()
            } catch {
                throw TokenKeyFailure("the \(algorithm.rawValue) key cannot be used: \(error)")
            }
            self.algorithm = algorithm
        }

        /// Whether the signature of these bytes is this key's.
        func verifies(_ signature: [UInt8], of signed: ArraySlice<UInt8>) -> Bool {
            // An error means a signature of a wrong length: nothing else reaches the library.
            (try? verifier.verify(signature, signs: signed)) ?? false
        }

        static func secret(_ bytes: [UInt8]) async throws(TokenKeyFailure) -> SignatureVerifier {
            let key = HMACKey(from: bytes)
            return try await SignatureVerifier(.hs256) {
                $0.add(hmac: key, digestAlgorithm: .sha256)
            }
        }

        /// Nil if the text is not a public key of a supported kind.
        static func pem(_ text: String) async throws(TokenKeyFailure) -> SignatureVerifier? {
            if let key = try? ES256PublicKey(pem: text) { return try await es256(key) }
            if let key = try? EdDSA.PublicKey(pem: text) { return try await edDSA(key) }
            if let key = try? Insecure.RSA.PublicKey(pem: text) { return try await rs256(key) }
            return nil
        }

        static func rsa(modulus: String, exponent: String) async throws -> SignatureVerifier {
            try await rs256(.init(modulus: modulus, exponent: exponent))
        }

        static func p256(x: String, y: String) async throws -> SignatureVerifier {
            try await es256(.init(parameters: (x: x, y: y)))
        }

        static func ed25519(x: String) async throws -> SignatureVerifier {
            try await edDSA(.init(x: x, curve: .ed25519))
        }

        private static func es256(
            _ key: ES256PublicKey
        ) async throws(TokenKeyFailure) -> SignatureVerifier {
            try await SignatureVerifier(.es256) { $0.add(ecdsa: key) }
        }

        private static func edDSA(
            _ key: EdDSA.PublicKey
        ) async throws(TokenKeyFailure) -> SignatureVerifier {
            try await SignatureVerifier(.edDSA) { $0.add(eddsa: key) }
        }

        private static func rs256(
            _ key: Insecure.RSA.PublicKey
        ) async throws(TokenKeyFailure) -> SignatureVerifier {
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
            return try await SignatureVerifier(.rs256) {
                $0.add(rsa: key, digestAlgorithm: .sha256)
            }
        }
    }
#else
    /// There is none.
    struct SignatureVerifier: Sendable {
        static var isBuilt: Bool { false }

        let algorithm: TokenKey.Algorithm

        private init() throws(TokenKeyFailure) { throw .notBuilt }

        func verifies(_ signature: [UInt8], of signed: ArraySlice<UInt8>) -> Bool { false }

        static func secret(_ bytes: [UInt8]) async throws(TokenKeyFailure) -> SignatureVerifier {
            try SignatureVerifier()
        }

        static func pem(_ text: String) async throws(TokenKeyFailure) -> SignatureVerifier? {
            try SignatureVerifier()
        }

        static func rsa(modulus: String, exponent: String) async throws -> SignatureVerifier {
            try SignatureVerifier()
        }

        static func p256(x: String, y: String) async throws -> SignatureVerifier {
            try SignatureVerifier()
        }

        static func ed25519(x: String) async throws -> SignatureVerifier {
            try SignatureVerifier()
        }
    }
#endif
