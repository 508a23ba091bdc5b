/// Records the fields that a type requests, and passes the requests on to the members of an object;
/// without one, refuses each.
struct NotingFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
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
        return try noting {
            guard let base else { throw SchemaRecorder.refusal(Any?.self) }
            return try base.decodeNil(forKey: key)
        }
    }

    private func noting<Value>(_ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            notes.fail()
            throw error
        }
    }

    private func read<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
        notes.add(.init(key: key.stringValue, type: type, isOptional: false))
        return try noting {
            try recorder.request()
            guard let base else { throw SchemaRecorder.refusal(type) }
            return try recorder.value(type, in: base.document, at: try base.field(key))
        }
    }

    private func readIfPresent<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        notes.add(.init(key: key.stringValue, type: type, isOptional: true))
        return try noting {
            try recorder.request()
            guard let base else { throw SchemaRecorder.refusal(type) }
            guard let field = try base.presentField(key) else { return nil }
            return try recorder.value(type, in: base.document, at: field)
        }
    }

    // MARK: Containers

    /// The fields of an enum's case, as Swift's synthesised code requests them; of other containers
    /// the content is not recorded.
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keys: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        notes.open(case: key.stringValue, keys)
        let fields = try noting { try base?.nestedFields(keyedBy: keys, forKey: key) }
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

extension NotingFields {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(type, key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(type, key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(type, key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(type, key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(type, key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try read(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try read(type, key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try read(type, key)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try readIfPresent(type, key)
    }
}
