/// The reason why bytes cannot be decoded as the requested type.
@usableFromInline
package enum JSONRefusal: Error, Sendable, Equatable {
    /// The bytes are not JSON (RFC 8259), or exceed a limit of `JSON.decode`. HTTP 400.
    ///
    /// `offset` is the byte, from 0, at which reading stopped; `reason` is a phrase for a message.
    case malformed(offset: Int, reason: String)

    /// The bytes are JSON, but not of the type: a missing field, another kind of value, an
    /// unknown case, a number out of range. HTTP 422.
    ///
    /// `path` is the JSON pointer (RFC 6901) of the offending value, or of the missing value:
    /// `/0/number`; the root is the empty text. `reason` is a phrase for a message.
    case mismatch(path: String, reason: String)

    package var sentence: String {
        switch self {
        case .malformed(let offset, let reason): "not JSON: \(reason) at byte \(offset)"
        case .mismatch(let path, let reason):
            "invalid at \(path.isEmpty ? "its root" : path): \(reason)"
        }
    }
}
