/// An `Idempotency-Key`: 128 random bits as 22 characters of base64url (O2).
///
/// Why not a counter behind a client's name: events show used keys to other readers (`cause`), and a
/// client that guesses the next one could use it first.
package struct RequestKey: Hashable, Sendable {
    package let text: String

    package init(using generator: inout some RandomNumberGenerator) {
        var text: [UInt8] = []
        let words = (generator.next() as UInt64, generator.next() as UInt64)
        // 21 characters of 6 bits, and one with the last 2 bits.
        for character in 0..<22 {
            text.append(Self.alphabet[Self.sixBits(of: words, at: character * 6)])
        }
        self.text = String(decoding: text, as: UTF8.self)
    }

    /// Nil unless the text is a key: 1 to 255 visible characters of ASCII.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...255).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.text = String(text)
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Bits of the 128, the highest first; those past the end are 0.
    private static func sixBits(of words: (UInt64, UInt64), at offset: Int) -> Int {
        var value = 0
        for bit in offset..<offset + 6 {
            let word = bit < 64 ? words.0 : words.1
            let isSet = bit < 128 && word >> UInt64(63 - bit % 64) & 1 == 1
            value = value << 1 | (isSet ? 1 : 0)
        }
        return value
    }
}
