/// A name from outside, such as a client's or a key. Equal only to a text with the same bytes.
///
/// Why not `String`: its `==` is canonical equivalence, so that `é` and `e` with an accent, or `K`
/// and the Kelvin sign, are one key. To an issuer of tokens they are two clients (RFC 7519 §2:
/// texts are compared as case-sensitive strings, without transformation).
///
/// Names that are checked to be ASCII need no such type: session ids (`SessionID`), names of
/// reactors (`Registration`) and generations. Two ASCII texts are equal only if their bytes are.
package struct ExactText: Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
}

extension ExactText: Hashable {
    package static func == (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.elementsEqual(other.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // UTF-8 never contains this byte, so no text is a prefix of another.
        hasher.combine(0xFF as UInt8)
    }
}

extension [String] {
    /// The index of the text with the same bytes. `firstIndex(of:)` finds canonically equal ones.
    package func firstIndex(exactly text: String) -> Int? {
        firstIndex { ExactText($0) == ExactText(text) }
    }
}

extension ExactText: CustomStringConvertible, ExpressibleByStringLiteral {
    package var description: String { text }

    package init(stringLiteral text: String) { self.init(text) }
}
