// A schema is derived from types, but a type may have code of its own. So it is compared with the
// values that exist, and made wider where one does not fit.

extension JSONSchema {
    /// Whether the value fits. Ranges, lengths and patterns are not compared: the values in
    /// question were written by the types that have them.
    package func fits(_ value: JSONValue) -> Bool {
        fits(value, in: self, depth: 0)
    }

    /// The same schema, with `{}` in place of each part that the value does not fit.
    func widened(toFit value: JSONValue) -> JSONSchema {
        let schema = widened(toFit: value, in: self, depth: 0)
        // The target of a reference is not widened.
        return schema.fits(value) ? schema : .anything
    }

    /// Larger than the limit of arrays and objects that the coder reads.
    private static let depthLimit = 256

    private func fits(_ value: JSONValue, in root: JSONSchema, depth: Int) -> Bool {
        // A reference that only refers to itself nests no value.
        guard depth < Self.depthLimit else { return false }
        func fitsPart(_ schema: JSONValue, _ value: JSONValue) -> Bool {
            guard let schema = JSONSchema(value: schema) else { return schema != .bool(false) }
            return schema.fits(value, in: root, depth: depth + 1)
        }
        if let reference = self["$ref"] {
            guard let schema = root.definition(reference) else { return false }
            return fitsPart(schema, value)
        }
        if let constant = self["const"], constant != value { return false }
        if case .array(let values)? = self["enum"], !values.contains(value) { return false }
        if case .array(let schemas)? = self["anyOf"],
            !schemas.contains(where: { fitsPart($0, value) })
        {
            return false
        }
        if case .array(let schemas)? = self["oneOf"],
            schemas.count(where: { fitsPart($0, value) }) != 1
        {
            return false
        }
        return fitsType(value) && fitsContent(value, fitsPart)
    }

    private func definition(_ reference: JSONValue) -> JSONValue? {
        guard case .string(let text) = reference, text.hasPrefix("#/$defs/") else { return nil }
        return self["$defs"]?[String(text.dropFirst("#/$defs/".count))]
    }

    private func fitsType(_ value: JSONValue) -> Bool {
        let types: [JSONValue]
        switch self["type"] {
        case .array(let several)?: types = several
        case let one?: types = [one]
        case nil: return true
        }
        return types.contains { type in
            switch (type, value) {
            case ("null", .null), ("boolean", .bool), ("string", .string), ("array", .array),
                ("object", .object), ("number", .number):
                true
            case ("integer", .number(let text)): JSONDecimal(Array(text.utf8)[...]).isWhole
            default: false
            }
        }
    }

    private func fitsContent(
        _ value: JSONValue, _ fitsPart: (JSONValue, JSONValue) -> Bool
    ) -> Bool {
        switch value {
        case .array(let elements):
            guard let items = self["items"] else { return true }
            return elements.allSatisfy { fitsPart(items, $0) }
        case .object(let members):
            if case .array(let required)? = self["required"],
                !required.allSatisfy({ key in members.contains { .string($0.key) == key } })
            {
                return false
            }
            return members.allSatisfy { member in
                if let names = self["propertyNames"], !fitsPart(names, .string(member.key)) {
                    return false
                }
                let part = self["properties"]?[member.key] ?? self["additionalProperties"]
                return part.map { fitsPart($0, member.value) } ?? true
            }
        default: return true
        }
    }

    private func widened(toFit value: JSONValue, in root: JSONSchema, depth: Int) -> JSONSchema {
        if fits(value, in: root, depth: depth) { return self }
        guard depth < Self.depthLimit, fitsType(value), self["$ref"] == nil else {
            return .anything
        }
        func widen(_ schema: JSONValue, _ value: JSONValue) -> JSONValue {
            let schema = JSONSchema(value: schema) ?? .anything
            return schema.widened(toFit: value, in: root, depth: depth + 1).value
        }
        var schema = self
        switch value {
        case .array(let elements):
            schema["items"] = self["items"].map { elements.reduce($0, widen) }
        case .object(let members):
            schema.widenMembers(toFit: members, widen)
        default: return .anything
        }
        return schema.fits(value, in: root, depth: depth) ? schema : .anything
    }

    private mutating func widenMembers(
        toFit members: [JSONValue.Member], _ widen: (JSONValue, JSONValue) -> JSONValue
    ) {
        if case .array(let required)? = self["required"] {
            self["required"] = .array(
                required.filter { key in members.contains { .string($0.key) == key } })
        }
        if case .object(let properties)? = self["properties"] {
            self["properties"] = .object(
                properties.map { property in
                    guard let member = members.first(where: { $0.key == property.key }) else {
                        return property
                    }
                    return .init(key: property.key, value: widen(property.value, member.value))
                })
        }
    }
}
