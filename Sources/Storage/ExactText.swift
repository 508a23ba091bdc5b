/// A text from outside that names somebody or something: a client, a key. It is equal to the same
/// bytes alone.
///
/// Why not `String`: its `==` is canonical equivalence, so that `é` and `e` with an accent, or `K`
/// and the Kelvin sign, are one key. To an issuer of tokens they are two clients (RFC 7519 §2:
/// texts are compared as case-sensitive strings, without transformation).
///
/// Names that are checked to be ASCII need no such type: session ids (`SessionID`), names of
/// reactors (`Registration`) and generations. An ASCII text that is equal to another text has its
/// bytes, or that one is not ASCII.
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
        // No UTF-8 has this byte: a text is no beginning of another.
        hasher.combine(0xFF as UInt8)
    }
}

extension ExactText: CustomStringConvertible, ExpressibleByStringLiteral {
    package var description: String { text }

    package init(stringLiteral text: String) { self.init(text) }
}
