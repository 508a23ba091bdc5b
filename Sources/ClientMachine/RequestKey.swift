/// An `Idempotency-Key`: 128 random bits as 22 characters of base64url (O2).
///
/// Why not a client's name and a counter: events show used keys to other readers (`cause`), and a
/// client that guesses the next key could use it first.
package struct RequestKey: Hashable, Sendable {
    package let text: String

    package init(using generator: inout some RandomNumberGenerator) {
        let words = (generator.next() as UInt64, generator.next() as UInt64)
        var characters: [UInt8] = []
        characters.reserveCapacity(22)
        // 21 characters of 6 bits, and one with the last 2 bits.
        for index in 0..<22 {
            characters.append(Self.character(Self.sixBits(of: words, at: index * 6)))
        }
        text = String(decoding: characters, as: UTF8.self)
    }

    /// Nil unless the text is a key: 1 to 255 visible characters of ASCII.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...255).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.text = String(text)
    }

    /// RFC 4648 §5.
    private static func character(_ bits: UInt8) -> UInt8 {
        switch bits {
        case 0..<26: UInt8(ascii: "A") + bits
        case 26..<52: UInt8(ascii: "a") + (bits - 26)
        case 52..<62: UInt8(ascii: "0") + (bits - 52)
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    /// Bits of the 128, the highest first; those past the end are 0.
    private static func sixBits(of words: (UInt64, UInt64), at offset: Int) -> UInt8 {
        // The word that begins with the first of the six bits.
        let window =
            offset < 64
            ? words.0 << UInt64(offset) | (offset == 0 ? 0 : words.1 >> UInt64(64 - offset))
            : words.1 << UInt64(offset - 64)
        return UInt8(window >> 58)
    }
}
