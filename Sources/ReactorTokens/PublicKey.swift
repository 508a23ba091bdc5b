#if Tokens || Complete
    internal import CCrypto

    /// A public key of libcrypto. Several threads may use it: verifying does not change it.
    @safe
    final class PublicKey: @unchecked Sendable {
        private let raw: OpaquePointer

        /// Nil if libcrypto cannot read the key, or a point is not on its curve.
        ///
        /// - Parameter info: a `SubjectPublicKeyInfo` in DER (RFC 5280 §4.1), and nothing else.
        init?(_ info: [UInt8]) {
            let key = unsafe info.withUnsafeBufferPointer { buffer -> OpaquePointer? in
                var next = buffer.baseAddress
                guard let key = unsafe d2i_PUBKEY(nil, &next, buffer.count) else { return nil }
                guard unsafe next == buffer.baseAddress.map({ unsafe $0 + buffer.count }) else {
                    unsafe EVP_PKEY_free(key)
                    return nil
                }
                return unsafe key
            }
            guard let key = unsafe key else {
                ERR_clear_error()
                return nil
            }
            unsafe raw = key
            guard hasUsualPoint else { return nil }
        }

        /// Not the point at infinity, for which anybody can sign.
        private var hasUsualPoint: Bool {
            guard `is`("EC") else { return true }
            let context = unsafe EVP_PKEY_CTX_new(raw, nil)
            defer {
                unsafe EVP_PKEY_CTX_free(context)
                ERR_clear_error()
            }
            return unsafe EVP_PKEY_public_check(context) == 1
        }

        deinit { unsafe EVP_PKEY_free(raw) }

        func `is`(_ name: String) -> Bool { unsafe EVP_PKEY_is_a(raw, name) == 1 }

        var isP256: Bool {
            var (name, length) = ([CChar](repeating: 0, count: 64), 0)
            guard unsafe EVP_PKEY_get_group_name(raw, &name, name.count, &length) == 1 else {
                return false
            }
            let text = name.prefix(length).map(UInt8.init(bitPattern:))
            return `is`("EC") && text.elementsEqual("prime256v1".utf8)
        }

        var bits: Int { Int(unsafe EVP_PKEY_get_bits(raw)) }

        /// Whether the public exponent of an RSA key is odd and has 2 to 33 bits.
        var hasUsualExponent: Bool {
            var exponent: OpaquePointer?
            defer { unsafe BN_free(exponent) }
            guard unsafe EVP_PKEY_get_bn_param(raw, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 else {
                return false
            }
            return unsafe BN_is_odd(exponent) == 1 && (2...33).contains(BN_num_bits(exponent))
        }

        /// - Parameter isHashed: Whether the digest of SHA-256 is signed, and not the bytes.
        func verifies(
            _ signature: [UInt8], of signed: ArraySlice<UInt8>, isHashed: Bool
        ) -> Bool {
            let digest = unsafe isHashed ? EVP_sha256() : nil
            let context = unsafe EVP_MD_CTX_new()
            // Otherwise the reason stays with the thread, and libpq may find it there.
            defer {
                unsafe EVP_MD_CTX_free(context)
                ERR_clear_error()
            }
            guard unsafe EVP_DigestVerifyInit(context, nil, digest, nil, raw) == 1 else {
                return false
            }
            return unsafe signed.withUnsafeBufferPointer {
                unsafe EVP_DigestVerify(
                    context, signature, signature.count, $0.baseAddress, $0.count) == 1
            }
        }

        /// The name and the bytes of the first PEM block of a public key.
        static func block(of text: String) -> (name: String, bytes: [UInt8])? {
            var (name, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
            var (data, count): (UnsafeMutablePointer<UInt8>?, Int) = (nil, 0)
            defer { ERR_clear_error() }
            let isRead = unsafe Array(text.utf8).withUnsafeBufferPointer { text in
                let source = unsafe BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count))
                defer { unsafe BIO_free(source) }
                return unsafe PEM_read_bio(source, &name, &header, &data, &count) == 1
            }
            // After a failure libcrypto has freed them itself; some versions leave the pointers.
            guard isRead, let name = unsafe name, let data = unsafe data else { return nil }
            defer {
                unsafe CRYPTO_free(name, nil, 0)
                unsafe CRYPTO_free(header, nil, 0)
                unsafe CRYPTO_free(data, nil, 0)
            }
            let bytes = unsafe UnsafeBufferPointer(start: data, count: count)
            return (unsafe String(cString: name), unsafe Array(bytes))
        }
    }

    /// The elements of DER (X.690) of which public keys and signatures consist.
    enum DER {
        static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

        /// A number that is not negative.
        static func integer(_ bytes: some Sequence<UInt8>) -> [UInt8] {
            let digits = Array(bytes.drop { $0 == 0 })
            // The first bit is the sign.
            let isPositive = digits.first.map { $0 < 0x80 } ?? false
            return element(0x02, isPositive ? digits : [0] + digits)
        }

        private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            let count = content.count
            guard count >= 0x80 else { return [tag, UInt8(count)] + content }
            let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
                .drop { $0 == 0 }
            return [tag, 0x80 | UInt8(length.count)] + length + content
        }

        // MARK: Keys (SubjectPublicKeyInfo)

        private static func key(_ kind: [UInt8], _ bits: [UInt8]) -> [UInt8] {
            sequence(sequence(kind) + element(0x03, [0] + bits))
        }

        /// - Parameter key: the sequence of modulus and exponent (RFC 8017 §A.1.1).
        static func rsaKey(_ key: [UInt8]) -> [UInt8] {
            // 1.2.840.113549.1.1.1, and NULL (RFC 3279 §2.3.1).
            let kind: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0]
            return self.key(kind, key)
        }

        /// - Parameter point: x and y, 32 bytes each.
        static func p256Key(_ point: [UInt8]) -> [UInt8] {
            // 1.2.840.10045.2.1 with 1.2.840.10045.3.1.7 (RFC 5480 §2.1.1).
            let kind: [UInt8] = [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]
            let curve: [UInt8] = [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
            // 4: the point is not compressed.
            return key(kind + curve, [4] + point)
        }

        static func ed25519Key(_ point: [UInt8]) -> [UInt8] {
            // 1.3.101.112 (RFC 8410 §3).
            key([6, 3, 0x2B, 0x65, 0x70], point)
        }
    }
#endif
