/// The members of one object, by a type's coding keys.
struct JSONFields<Key: CodingKey>: JSONKeyedReading {
    enum Role {
        /// Every member is a field.
        case plain
        /// A `TaggedCodable` enum in Swift's view: one key, the case's name.
        case tag
        /// The same object in its second role: the case's fields.
        case body
    }

    let document: JSONDocument
    let node: Int
    let role: Role
    /// In the role `tag`: the node of the `type`.
    var tag = 0

    var codingPath: [any CodingKey] { document.path(to: node) }

    var allKeys: [Key] {
        role == .tag ? JSONTag.keys(at: tag, in: document) : memberKeys
    }

    private var memberKeys: [Key] {
        var keys: [Key] = []
        let end = Int(document.nodes[node].next)
        var place = node + 1
        while place < end {
            if let key = Key(stringValue: document.text(at: place)) { keys.append(key) }
            place = Int(document.nodes[place + 1].next)
        }
        return keys
    }

    func contains(_ key: Key) -> Bool {
        role == .tag
            ? document.isKey(tag, key.stringValue)
            : document.member(key.stringValue, of: node) != nil
    }

    /// The field's node, or nil if the object has none.
    private func find(_ key: Key) throws -> Int? {
        if role != .plain { try refuse(key) }
        return document.member(key.stringValue, of: node)
    }

    private func refuse(_ key: Key) throws {
        if role == .tag { throw document.corrupted(JSONTag.notAnEnum, at: node) }
        guard key.stringValue == JSONTag.name else { return }
        throw document.corrupted(JSONTag.reserved, at: node)
    }

    func field(_ key: Key) throws -> Int {
        guard let field = try find(key) else { throw document.missing(key, in: node) }
        return field
    }

    private func filled<Value: Decodable>(_ key: Key) throws -> Value {
        let (document, field) = try fallback(key)
        return try document.value(Value.self, at: field)
    }

    private func fallback(_ key: Key) throws -> (document: JSONDocument, node: Int) {
        let found = document.fallback?.member(
            key.stringValue, of: node, isCase: role != .plain, in: document)
        guard let found else { throw document.missing(key, in: node) }
        return found
    }

    private func container(_ key: Key) throws -> (document: JSONDocument, node: Int) {
        guard let field = try find(key) else { return try fallback(key) }
        return (document, field)
    }

    /// The field's node, or nil if it is missing or null.
    func presentField(_ key: Key) throws -> Int? {
        guard let field = try find(key), !document.isNull(at: field) else { return nil }
        return field
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        document.isNull(at: try field(key))
    }

    @inline(__always)
    func decode<Value: JSONScalar>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try scalar(type, key)
    }

    @inline(__always)
    func scalar<Value: JSONScalar>(_: Value.Type, _ key: Key) throws -> Value {
        guard let field = try find(key) else { return try filled(key) }
        return try Value.read(document, at: field)
    }

    @inline(__always)
    func scalarIfPresent<Value: JSONScalar>(_: Value.Type, _ key: Key) throws -> Value? {
        guard let field = try presentField(key) else { return nil }
        return try Value.read(document, at: field)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        guard let field = try find(key) else { return try filled(key) }
        return try document.value(type, at: field)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let field = try presentField(key) else { return nil }
        return try document.value(type, at: field)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keys: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(try nestedFields(keyedBy: keys, forKey: key))
    }

    func nestedFields<NestedKey: CodingKey>(
        keyedBy _: NestedKey.Type, forKey key: Key
    ) throws -> JSONFields<NestedKey> {
        if role == .tag {
            return JSONFields<NestedKey>(document: document, node: node, role: .body)
        }
        let (document, field) = try container(key)
        guard document.nodes[field].kind == .object else {
            throw document.mismatch([String: Any].self, "an object", at: field)
        }
        return JSONFields<NestedKey>(document: document, node: field, role: .plain)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        let (document, field) = try container(key)
        guard document.nodes[field].kind == .array else {
            throw document.mismatch([Any].self, "an array", at: field)
        }
        return JSONElements(document: document, array: UInt32(field))
    }

    func superDecoder() throws -> any Decoder {
        if role != .plain { throw document.corrupted(JSONTag.notAnEnum, at: node) }
        let key = JSONPathKey("super")
        guard let field = document.member(key.stringValue, of: node) else {
            throw document.missing(key, in: node)
        }
        return JSONNodeDecoder(document: document, node: UInt32(field), type: Any.self)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        JSONNodeDecoder(document: document, node: UInt32(try field(key)), type: Any.self)
    }
}
