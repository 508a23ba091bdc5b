/// Records a type's requests for fields, and passes them on to an object; without one, refuses.
struct NotingFields<Key: CodingKey>: JSONKeyedReading {
    let recorder: SchemaRecorder
    let notes: SchemaNotes
    /// Nil if there is no value.
    let base: JSONFields<Key>?

    var codingPath: [any CodingKey] { base?.codingPath ?? [] }

    var allKeys: [Key] {
        notes.requestsKeys = true
        guard let base else { return notes.chosenCase.flatMap(Key.init).map { [$0] } ?? [] }
        return recorder.isExhausted ? [] : base.allKeys
    }

    func contains(_ key: Key) -> Bool {
        notes.test(key.stringValue)
        return base?.contains(key) ?? false
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        notes.test(key.stringValue)
        return try notes.noting {
            guard let base else { throw SchemaRecorder.refusal(Any?.self) }
            return try base.decodeNil(forKey: key)
        }
    }

    /// For every type. It also satisfies the requirements for concrete types, such as `Bool`.
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        notes.add(.init(key: key.stringValue, type: type, isOptional: false))
        return try notes.noting {
            try recorder.request()
            guard let base else { throw SchemaRecorder.refusal(type) }
            return try recorder.value(type, in: base.document, at: try base.field(key))
        }
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try readIfPresent(type, key)
    }

    func scalar<Value: JSONScalar>(_ type: Value.Type, _ key: Key) throws -> Value {
        try decode(type, forKey: key)
    }

    func scalarIfPresent<Value: JSONScalar>(_ type: Value.Type, _ key: Key) throws -> Value? {
        try readIfPresent(type, key)
    }

    private func readIfPresent<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        notes.add(.init(key: key.stringValue, type: type, isOptional: true))
        return try notes.noting {
            try recorder.request()
            guard let base else { throw SchemaRecorder.refusal(type) }
            guard let field = try base.presentField(key) else { return nil }
            return try recorder.value(type, in: base.document, at: field)
        }
    }

    /// For an enum's case, as synthesised code requests it; other contents are not recorded.
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keys: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        notes.open(case: key.stringValue, keys)
        let fields = try notes.noting { try base?.nestedFields(keyedBy: keys, forKey: key) }
        return KeyedDecodingContainer(
            NotingFields<NestedKey>(recorder: recorder, notes: notes, base: fields))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        notes.openOther()
        guard let base else { throw SchemaRecorder.refusal([Any].self) }
        return try base.nestedUnkeyedContainer(forKey: key)
    }

    func superDecoder() throws -> any Decoder {
        notes.openOther()
        guard let base else { throw SchemaRecorder.refusal(Any.self) }
        return try base.superDecoder()
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        notes.openOther()
        guard let base else { throw SchemaRecorder.refusal(Any.self) }
        return try base.superDecoder(forKey: key)
    }
}
