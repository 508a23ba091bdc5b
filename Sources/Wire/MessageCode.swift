/// The code by which the holder of a secret proves that it knows it: HMAC with SHA-256 (RFC 2104).
package enum MessageCode {
    package static func make(_ message: [UInt8], secret: [UInt8]) -> [UInt8] {
        var key = secret.count > SHA256.blockBytes ? SHA256.hash(secret) : secret
        key += [UInt8](repeating: 0, count: SHA256.blockBytes - key.count)
        var inner = SHA256()
        inner.update(key.map { $0 ^ 0x36 })
        inner.update(message)
        var outer = SHA256()
        outer.update(key.map { $0 ^ 0x5c })
        outer.update(inner.finish())
        return outer.finish()
    }

    /// Whether two codes are equal. It takes the same time wherever they differ: a peer that could
    /// measure the first difference would find the code byte by byte.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in one.indices { difference |= one[index] ^ other[index] }
        return difference == 0
    }
}
