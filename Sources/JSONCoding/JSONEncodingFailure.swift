/// The reason why a value cannot be encoded: a number that is not finite, a case field called
/// `type`, or an error of the value's own `encode(to:)`.
@usableFromInline
package struct JSONEncodingFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The JSON pointer (RFC 6901) of the part that failed; the root is the empty text.
    package var path: String
    /// A phrase for a message.
    package var reason: String

    package init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    @usableFromInline
    package var description: String {
        "\(reason) (at \(path.isEmpty ? "the root" : path))"
    }
}
