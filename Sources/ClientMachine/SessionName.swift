/// The id of a session, which is safe in a path, in a vector and in a line of a file.
package struct SessionName: Sendable {
    package let text: String
    /// The text's hash, which is found once: names are looked up dozens of times for each send.
    private let textHash: Int

    /// Nil unless the text is `[A-Za-z0-9_-]{1,128}` (contract §3).
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...128).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else { return nil }
        self.text = String(text)
        textHash = self.text.hashValue
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

extension SessionName: Hashable {
    package static func == (left: SessionName, right: SessionName) -> Bool {
        left.textHash == right.textHash && left.text == right.text
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(textHash) }
}

extension SessionName: CustomStringConvertible {
    package var description: String { text }
}
