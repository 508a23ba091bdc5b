/// A session's name: `[A-Za-z0-9_-]{1,128}` (contract §3).
package struct SessionID: Hashable, Sendable {
    package let text: String

    /// Nil unless every byte is allowed and there are 1 to 128 of them.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard (1...128).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    /// The session of a topic (ADR-0078): `$` and the topic's name. No request can name it.
    ///
    /// Nil if the name is empty, is too long, or has a character that no topic in a path may have.
    package init?(topic: String) {
        guard (1...127).contains(topic.utf8.count), topic.utf8.allSatisfy(Self.isAllowedInTopic)
        else { return nil }
        text = "$" + topic
    }

    /// An id that a node has stored or sent. The session may be that of a topic.
    package init?(own text: String) {
        guard text.utf8.first == UInt8(ascii: "$") else {
            self.init(text)
            return
        }
        self.init(topic: String(decoding: text.utf8.dropFirst(), as: UTF8.self))
    }

    /// The topic whose session it is; nil for any other session.
    package var topic: String? {
        text.utf8.first == UInt8(ascii: "$") ? String(text.dropFirst()) : nil
    }

    /// Whether an id can begin with this text; with the empty one every id does.
    package static func canBegin(with text: String) -> Bool {
        text.utf8.count <= 128 && text.utf8.allSatisfy(isAllowed)
    }

    /// The id in a range of `bytes`, without escapes; nil under the same rules.
    package init?(_ bytes: borrowing [UInt8], _ range: Range<Int>) {
        guard (1...128).contains(range.count) else { return nil }
        let span = bytes.span
        for index in range where !Self.isAllowed(span[index]) { return nil }
        text = String(decoding: bytes[range], as: UTF8.self)
    }

    /// 128 random bits as 22 characters of the URL-safe base64 alphabet (RFC 4648 §5).
    package static func random(using generator: inout some RandomNumberGenerator) -> SessionID {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var bits: UInt128 =
            UInt128(generator.next() as UInt64) << 64 | UInt128(generator.next() as UInt64)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(22)
        for _ in 0..<22 {
            bytes.append(alphabet[Int(truncatingIfNeeded: bits & 63)])
            bits >>= 6
        }
        return SessionID(unchecked: String(decoding: bytes, as: UTF8.self))
    }

    /// The index of the event loop that owns the session, of `loops` loops.
    ///
    /// Why FNV-1a and not Swift's `Hasher`, whose seed differs in each run: a session has the same
    /// loop in every run, so that traces can be compared.
    package func owner(of loops: Int) -> Int {
        guard loops > 1 else { return 0 }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return Int((hash ^ (hash >> 32)) % UInt64(loops))
    }

    private init(unchecked text: String) {
        self.text = text
    }

    /// Visible ASCII except the delimiters of a path (RFC 3986 §3.3) and `%`.
    private static func isAllowedInTopic(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"/?#%".utf8.contains(byte)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
