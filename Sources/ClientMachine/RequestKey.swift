/// An `Idempotency-Key`: 128 random bits as 22 characters of base64url (O2).
///
/// Why not a client's name and a counter: events show used keys to other readers (`cause`), and a
/// client that guesses the next key could use it first.
package struct RequestKey: Hashable, Sendable {
    package let text: String

    package init(using generator: inout some RandomNumberGenerator) {
        let high = UInt128(generator.next() as UInt64)
        let bits = high << 64 | UInt128(generator.next() as UInt64)
        // RFC 4648 §5: 21 characters of 6 bits, the highest first, and one with the last 2 bits.
        let characters = (0..<22).map { index in
            let sixBits = index < 21 ? bits >> UInt128(122 - index * 6) : bits << 4
            return Self.alphabet[Int(truncatingIfNeeded: sixBits & 63)]
        }
        text = String(decoding: characters, as: UTF8.self)
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Nil unless the text is a key: 1 to 255 visible characters of ASCII.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...255).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.text = String(text)
    }
}
