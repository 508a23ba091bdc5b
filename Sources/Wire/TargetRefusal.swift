/// The reason why a path or a query cannot be decoded: the peer's fault, always 400.
package enum TargetRefusal: PeerFault, Equatable {
    /// A `%` is not followed by two hexadecimal digits.
    case malformedEscape(TargetPart)
    /// The decoded bytes are not UTF-8.
    case malformedText(TargetPart)
    case tooManyItems(limit: Int)

    package var status: Int { 400 }

    package var code: String {
        switch self {
        case .malformedEscape: "malformed_percent_escape"
        case .malformedText: "malformed_utf8"
        case .tooManyItems: "too_many_query_items"
        }
    }

    package var detail: String {
        switch self {
        case .malformedEscape(let part):
            "\(part) has a % that is not followed by two hexadecimal digits."
        case .malformedText(let part): "\(part) is not UTF-8."
        case .tooManyItems(let limit): "The query has more than \(limit) items."
        }
    }

    package var clause: String {
        switch self {
        case .malformedEscape: "RFC 3986 §2.1"
        case .malformedText: "RFC 3986 §2.5"
        case .tooManyItems: "RFC 9110 §15.5.1"
        }
    }
}

/// The part of a target to which a refusal refers.
package enum TargetPart: Sendable, Equatable, CustomStringConvertible {
    case path
    /// An item of the query, counted from 1.
    case queryItem(Int)

    package var description: String {
        switch self {
        case .path: "The path"
        case .queryItem(let number): "Item \(number) of the query"
        }
    }
}
