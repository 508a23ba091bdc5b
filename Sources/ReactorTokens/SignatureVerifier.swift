// Design: only this file and `PublicKey.swift` use cryptography. A build without the package's
// trait `Tokens` has no libcrypto, and no keys: each way to make a key throws an error that says
// so.

internal import ReactorHosting

#if Tokens || Complete
    internal import CCrypto

    struct SignatureVerifier: Sendable {
        static var isBuilt: Bool { true }

        private enum Key {
            case secret([UInt8])
            case rsa(PublicKey)
            case p256(PublicKey)
            case ed25519(PublicKey)
        }

        private let key: Key

        var algorithm: TokenKey.Algorithm {
            switch key {
            case .secret: .hs256
            case .rsa: .rs256
            case .p256: .es256
            case .ed25519: .edDSA
            }
        }

        /// Whether the signature of these bytes is this key's.
        func verifies(_ signature: [UInt8], of signed: ArraySlice<UInt8>) -> Bool {
            switch key {
            case .secret(let secret): Self.isCode(signature, of: signed, by: secret)
            case .rsa(let key): key.verifies(signature, of: signed, isHashed: true)
            case .p256(let key):
                // RFC 7518 §3.4: both numbers in 32 bytes. libcrypto has them in DER.
                signature.count == 64
                    && key.verifies(
                        DER.sequence(DER.integer(signature[..<32]) + DER.integer(signature[32...])),
                        of: signed, isHashed: true)
            case .ed25519(let key): key.verifies(signature, of: signed, isHashed: false)
            }
        }

        /// Takes the same time for each code of the right length.
        private static func isCode(
            _ signature: [UInt8], of signed: ArraySlice<UInt8>, by secret: [UInt8]
        ) -> Bool {
            let length = 32
            guard signature.count == length else { return false }
            var code = [UInt8](repeating: 0, count: length)
            let isMade = unsafe signed.withUnsafeBufferPointer {
                unsafe HMAC(
                    EVP_sha256(), secret, Int32(clamping: secret.count), $0.baseAddress, $0.count,
                    &code, nil)
            }
            return unsafe isMade != nil && CRYPTO_memcmp(code, signature, length) == 0
        }

        // MARK: Keys

        static func secret(_ bytes: [UInt8]) throws(TokenKeyFailure) -> SignatureVerifier {
            SignatureVerifier(key: .secret(bytes))
        }

        /// Nil if the text is not a public key of a supported kind.
        static func pem(_ text: String) throws(TokenKeyFailure) -> SignatureVerifier? {
            guard let (name, bytes) = PublicKey.block(of: text) else { return nil }
            // PKCS #1 has an RSA key without the name of its kind.
            let info = name == "RSA PUBLIC KEY" ? DER.rsaKey(bytes) : bytes
            guard let key = PublicKey(info) else { return nil }
            if key.isP256 { return SignatureVerifier(key: .p256(key)) }
            if key.is("ED25519") { return SignatureVerifier(key: .ed25519(key)) }
            return key.is("RSA") ? try rsa(key) : nil
        }

        static func rsa(
            modulus: String, exponent: String
        ) throws(TokenKeyFailure) -> SignatureVerifier {
            let numbers = try DER.integer(bytes(modulus, "n")) + DER.integer(bytes(exponent, "e"))
            return try rsa(known(PublicKey(DER.rsaKey(DER.sequence(numbers)))))
        }

        static func p256(x: String, y: String) throws(TokenKeyFailure) -> SignatureVerifier {
            let point = try bytes(x, "x", count: 32) + bytes(y, "y", count: 32)
            return SignatureVerifier(key: .p256(try known(PublicKey(DER.p256Key(point)))))
        }

        static func ed25519(x: String) throws(TokenKeyFailure) -> SignatureVerifier {
            let key = DER.ed25519Key(try bytes(x, "x", count: 32))
            return SignatureVerifier(key: .ed25519(try known(PublicKey(key))))
        }

        private static func rsa(_ key: PublicKey) throws(TokenKeyFailure) -> SignatureVerifier {
            // RFC 7518 §3.3. The upper bound limits the time of one verification.
            guard (2_048...8_192).contains(key.bits) else {
                throw TokenKeyFailure("the RSA key has \(key.bits) bits; use 2048 to 8192")
            }
            // With the exponent 1 every text is its own signature.
            guard key.hasUsualExponent else {
                throw TokenKeyFailure(
                    "the RSA key has an unusual exponent; use an odd one of 2 to 33 bits")
            }
            return SignatureVerifier(key: .rsa(key))
        }

        private static func known(_ key: PublicKey?) throws(TokenKeyFailure) -> PublicKey {
            guard let key else { throw TokenKeyFailure("it is not on the curve, or not readable") }
            return key
        }

        private static func bytes(
            _ text: String, _ name: String, count: Int? = nil
        ) throws(TokenKeyFailure) -> [UInt8] {
            guard let bytes = Base64URL.decode(text.utf8) else {
                throw TokenKeyFailure("\"\(name)\" is not base64url without padding")
            }
            if let count, bytes.count != count {
                throw TokenKeyFailure("\"\(name)\" has \(bytes.count) bytes, and not \(count)")
            }
            return bytes
        }
    }
#else
    /// There is none.
    struct SignatureVerifier: Sendable {
        static var isBuilt: Bool { false }

        let algorithm: TokenKey.Algorithm

        private init() throws(TokenKeyFailure) { throw .notBuilt }

        func verifies(_ signature: [UInt8], of signed: ArraySlice<UInt8>) -> Bool { false }

        static func secret(_ bytes: [UInt8]) throws(TokenKeyFailure) -> SignatureVerifier {
            try SignatureVerifier()
        }

        static func pem(_ text: String) throws(TokenKeyFailure) -> SignatureVerifier? {
            try SignatureVerifier()
        }

        static func rsa(
            modulus: String, exponent: String
        ) throws(TokenKeyFailure) -> SignatureVerifier { try SignatureVerifier() }

        static func p256(x: String, y: String) throws(TokenKeyFailure) -> SignatureVerifier {
            try SignatureVerifier()
        }

        static func ed25519(x: String) throws(TokenKeyFailure) -> SignatureVerifier {
            try SignatureVerifier()
        }
    }
#endif
