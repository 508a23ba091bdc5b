// A decoder throws Swift's own error, because a type's `init(from:)` may examine it; `JSON.decode`
// converts it to a refusal.

extension JSONDocument {
    /// The value has another kind than the type requires.
    func mismatch(_ type: any Any.Type, _ expected: String, at node: Int) -> DecodingError {
        let text = "expected \(expected), found \(nodes[node].phrase)"
        let context = DecodingError.Context(codingPath: path(to: node), debugDescription: text)
        return nodes[node].kind == .null
            ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// The value has the right kind, but the type does not allow it.
    func corrupted(_ reason: String, at node: Int) -> DecodingError {
        .dataCorrupted(.init(codingPath: path(to: node), debugDescription: reason))
    }

    func missing(_ key: any CodingKey, in object: Int) -> DecodingError {
        .keyNotFound(
            key,
            .init(
                codingPath: path(to: object),
                debugDescription: "the field \"\(key.stringValue)\" is missing"))
    }

    func refusal(for error: any Error) -> JSONRefusal {
        switch error {
        case let refusal as JSONRefusal:
            return refusal
        case DecodingError.keyNotFound(let key, let context):
            return .mismatch(
                path: JSONPointer(context.codingPath + [key]).description,
                reason: "the field \"\(key.stringValue)\" is missing")
        case DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            return .mismatch(
                path: JSONPointer(context.codingPath).description,
                reason: context.debugDescription)
        default:
            return .mismatch(
                path: JSONPointer(path(to: blamed ?? 0)).description,
                reason: String(describing: error))
        }
    }
}
