// RFC 6901: a JSON pointer is empty, or a "/" before each token; "~0" is "~", "~1" is "/".

/// Names one part of a JSON document, as in `/alerts/0/text`.
///
/// Source: [RFC 6901](https://www.rfc-editor.org/rfc/rfc6901).
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package struct Malformed: Error, Sendable, Equatable {
        /// A phrase for a message.
        package var reason: String
    }

    /// The names and indices along the path, unescaped. Empty: the whole document.
    package let tokens: [String]

    /// Tokens of a pointer's text form. One that has more names no part of any document.
    package static let tokenLimit = JSONScanner.depthLimit

    /// Reads the pointer's text form. Throws `Malformed` if `text` is not empty and does not begin
    /// with `/`, has a `~` that is not followed by `0` or `1` (RFC 6901 §3), or has more than
    /// ``tokenLimit`` tokens.
    package init(_ text: String) throws(Malformed) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        // By bytes: as a Character, a "/" with a combining mark after it would not be a separator.
        let parts = text.utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts[0].isEmpty else {
            throw Malformed(reason: "a JSON pointer is empty or begins with \"/\"")
        }
        guard parts.count - 1 <= Self.tokenLimit else {
            throw Malformed(reason: "it has more than \(Self.tokenLimit) tokens")
        }
        var tokens: [String] = []
        for part in parts.dropFirst() { tokens.append(try Self.unescaped(Substring(part))) }
        self.tokens = tokens
    }

    package init(tokens: [String]) {
        self.tokens = tokens
    }

    /// Byte by byte, as in a document: canonically equal names are two members (RFC 8259 §8.3).
    package static func == (one: JSONPointer, other: JSONPointer) -> Bool {
        one.tokens.elementsEqual(other.tokens) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// The text form, escaped.
    package var description: String {
        tokens.reduce(into: "") { text, token in
            text += "/"
            Self.appendEscaped(token, to: &text)
        }
    }

    private static func appendEscaped(_ token: String, to text: inout String) {
        for scalar in token.unicodeScalars {
            switch scalar {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    private static func unescaped(_ part: Substring) throws(Malformed) -> String {
        guard part.utf8.contains(UInt8(ascii: "~")) else { return String(part) }
        var token = String.UnicodeScalarView()
        var scalars = part.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "~" else {
                token.append(scalar)
                continue
            }
            switch scalars.next() {
            case "0": token.append("~")
            case "1": token.append("/")
            default: throw Malformed(reason: "\"~\" is not followed by \"0\" or \"1\"")
            }
        }
        return String(token)
    }
}
