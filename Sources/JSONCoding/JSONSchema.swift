/// A JSON Schema (2020-12) of values that this module writes or reads.
///
/// Only these keywords occur: `type`, `properties`, `required`, `additionalProperties`,
/// `propertyNames`, `items`, `enum`, `const`, `oneOf`, `anyOf`, `minimum`, `maximum`, `minLength`,
/// `pattern`, `format`, `contentEncoding`, `$defs`, and `$ref` to one of the root's `$defs`.
///
/// Source: [JSON Schema 2020-12](https://json-schema.org/draft/2020-12/json-schema-core).
package struct JSONSchema: Sendable, Hashable {
    private var keywords: [JSONValue.Member]

    init(_ keywords: KeyValuePairs<String, JSONValue>) {
        self.keywords = keywords.map { .init(key: $0.key, value: $0.value) }
    }

    /// A schema that was made by ``value``; nil for a value that is not an object.
    package init?(value: JSONValue) {
        guard case .object(let keywords) = value else { return nil }
        self.keywords = keywords
    }

    package var value: JSONValue { .object(keywords) }

    package subscript(keyword: String) -> JSONValue? {
        get { value[keyword] }
        set {
            let index = keywords.firstIndex { $0.key == keyword }
            switch (index, newValue) {
            case (let index?, let new?): keywords[index].value = new
            case (let index?, nil): keywords.remove(at: index)
            case (nil, let new?): keywords.append(.init(key: keyword, value: new))
            case (nil, nil): break
            }
        }
    }

    /// `{}`: every value fits.
    package static let anything = JSONSchema([:])

    /// One member of an object.
    struct Field {
        let key: String
        let schema: JSONSchema
        let isRequired: Bool
    }

    /// An object; members of other names are permitted, because the coder ignores them.
    static func object(_ fields: [Field]) -> JSONSchema {
        var schema = JSONSchema(["type": "object"])
        guard !fields.isEmpty else { return schema }
        schema["properties"] = .object(fields.map { .init(key: $0.key, value: $0.schema.value) })
        let required = fields.filter(\.isRequired).map { JSONValue.string($0.key) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return schema
    }

    static func array(of items: JSONSchema) -> JSONSchema {
        var schema = JSONSchema(["type": "array"])
        if items != .anything { schema["items"] = items.value }
        return schema
    }

    static func constant(_ text: String) -> JSONSchema { JSONSchema(["const": .string(text)]) }

    static func one(of schemas: [JSONSchema], _ keyword: String = "oneOf") -> JSONSchema {
        JSONSchema([keyword: .array(schemas.map(\.value))])
    }

    /// The same with null as a further value.
    var orNull: JSONSchema {
        var schema = self
        switch (self["type"], self["enum"]) {
        case _ where self == .anything || fits(.null): return self
        case (.string(let type)?, nil): schema["type"] = .array([.string(type), "null"])
        case (.array(let types)?, nil): schema["type"] = .array(types + ["null"])
        case (nil, .array(let values)?): schema["enum"] = .array(values + [.null])
        default: return .one(of: [self, JSONSchema(["type": "null"])], "anyOf")
        }
        return schema
    }
}
