extension JSONSchema {
    /// A small value that fits the schema, if the schema says enough. Code seldom traps on it.
    ///
    /// Texts are `example`, numbers 1 or the nearest permitted ones, arrays have one element, and
    /// members that are not required are left out. Where a schema says nothing, it is `null`.
    package var sample: JSONValue { sample(value, depth: 0) }

    private static let depthLimit = 32

    private func sample(_ schema: JSONValue, depth: Int) -> JSONValue {
        guard depth < Self.depthLimit else { return .null }
        if let constant = schema["const"] { return constant }
        if let value = schema["enum"]?[0] ?? schema["examples"]?[0] { return value }
        if let branch = schema["oneOf"]?[0] ?? schema["anyOf"]?[0] {
            return sample(branch, depth: depth + 1)
        }
        if case .string(let reference)? = schema["$ref"] {
            let name = String(reference.dropFirst("#/$defs/".count))
            return value["$defs"]?[name].map { sample($0, depth: depth + 1) } ?? .null
        }
        var type = schema["type"]
        if let first = type?[0] { type = first }
        guard case .string(let name)? = type else { return .null }
        switch name {
        case "boolean": return false
        case "integer", "number": return .number("1")
        case "string": return .string(text(schema))
        case "array":
            return .array(schema["items"].map { [sample($0, depth: depth + 1)] } ?? [])
        case "object": return object(schema, depth)
        default: return .null
        }
    }

    private func text(_ schema: JSONValue) -> String {
        switch schema["format"] {
        case .string("date-time"): "2026-01-01T00:00:00.000Z"
        case .string("uuid"): "00000000-0000-4000-8000-000000000001"
        // Base64, four characters at a time.
        case nil where schema["contentEncoding"] != nil: "ZXhhbXBsZQ=="
        default: "example"
        }
    }

    private func object(_ schema: JSONValue, _ depth: Int) -> JSONValue {
        guard case .array(let required)? = schema["required"] else { return .object([]) }
        var members: [JSONValue.Member] = []
        for case .string(let name) in required {
            let member = schema["properties"]?[name] ?? .null
            members.append(.init(key: name, value: sample(member, depth: depth + 1)))
        }
        return .object(members)
    }
}
