import CCrypto
import Foundation

@testable import ReactorTokens

/// A key that signs, as an issuer has it.
enum SigningKey: Sendable {
    case hmac([UInt8])
    case pair(KeyPair)

    @safe
    final class KeyPair: @unchecked Sendable {
        fileprivate let raw: OpaquePointer

        fileprivate init(_ raw: OpaquePointer?) throws {
            guard let raw = unsafe raw else { throw Failure() }
            unsafe self.raw = raw
        }

        deinit { unsafe EVP_PKEY_free(raw) }
    }

    struct Failure: Error {}

    /// A new key.
    init(_ kind: String, curve: String? = nil) throws {
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, kind, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1 else { throw Failure() }
        if let curve, unsafe EVP_PKEY_CTX_set_group_name(context, curve) != 1 { throw Failure() }
        _ = unsafe EVP_PKEY_generate(context, &key)
        self = .pair(try unsafe KeyPair(key))
    }

    init(pem: String) throws {
        let key = unsafe Array(pem.utf8).withUnsafeBufferPointer { text in
            let source = unsafe BIO_new_mem_buf(text.baseAddress, Int32(text.count))
            defer { unsafe BIO_free(source) }
            return unsafe PEM_read_bio_PrivateKey(source, nil, nil, nil)
        }
        self = .pair(try unsafe KeyPair(key))
    }

    func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        switch self {
        case .hmac(let secret):
            var code = [UInt8](repeating: 0, count: 32)
            unsafe HMAC(
                EVP_sha256(), secret, Int32(secret.count), bytes, bytes.count, &code, nil)
            return code
        case .pair(let pair):
            let hasDigest = unsafe EVP_PKEY_is_a(pair.raw, "ED25519") == 0
            let context = unsafe EVP_MD_CTX_new()
            defer { unsafe EVP_MD_CTX_free(context) }
            let digest = unsafe hasDigest ? EVP_sha256() : nil
            var (code, count) = ([UInt8](repeating: 0, count: 1_024), 1_024)
            guard unsafe EVP_DigestSignInit(context, nil, digest, nil, pair.raw) == 1,
                unsafe EVP_DigestSign(context, &code, &count, bytes, bytes.count) == 1
            else { throw Failure() }
            let signature = Array(code[..<count])
            return unsafe EVP_PKEY_is_a(pair.raw, "EC") == 1
                ? Self.plain(signature, bytes: Int(EVP_PKEY_get_bits(pair.raw) + 7) / 8)
                : signature
        }
    }

    /// Both numbers of a signature in DER, each in this number of bytes (RFC 7518 §3.4).
    private static func plain(_ signature: [UInt8], bytes count: Int) -> [UInt8] {
        unsafe signature.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            let pair = unsafe d2i_ECDSA_SIG(nil, &next, buffer.count)
            defer { unsafe ECDSA_SIG_free(pair) }
            return unsafe [ECDSA_SIG_get0_r(pair), ECDSA_SIG_get0_s(pair)].flatMap {
                var bytes = [UInt8](repeating: 0, count: count)
                unsafe BN_bn2binpad($0, &bytes, Int32(count))
                return bytes
            }
        }
    }

    /// Empty for a secret.
    var publicPEM: String {
        guard case .pair(let pair) = self else { return "" }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe Int(i2d_PUBKEY(pair.raw, &bytes))
        defer { unsafe CRYPTO_free(bytes, nil, 0) }
        let text = unsafe Data(UnsafeBufferPointer(start: bytes, count: count))
            .base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
    }
}
