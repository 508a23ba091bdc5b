/// Records a type's requests, and passes them on to the decoder of a value; without one, refuses.
struct NotingDecoder: Decoder {
    let recorder: SchemaRecorder
    let notes: SchemaNotes
    /// Nil if there is no value.
    let base: JSONNodeDecoder?

    var codingPath: [any CodingKey] { base?.codingPath ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
        notes.open(.fields, keys)
        let fields = try notes.noting { try base?.fields(keyedBy: keys) }
        return KeyedDecodingContainer(
            NotingFields<Key>(recorder: recorder, notes: notes, base: fields))
    }

    /// Refused without a value: a type may read until the end, and there is none.
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        notes.open(.elements)
        return try notes.noting {
            guard let base else { throw SchemaRecorder.refusal([Any].self) }
            return NotingElements(
                recorder: recorder, notes: notes, document: base.document,
                base: try base.elements())
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        notes.open(.value)
        return self
    }
}

extension NotingDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        notes.requestsNull = true
        return base?.decodeNil() ?? false
    }

    func decode(_ type: Int128.Type) throws -> Int128 { try read(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try read(type) }

    /// For every other type. It also satisfies the requirements for concrete types, such as `Bool`.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }

    private func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        notes.add(.init(key: "", type: type, isOptional: false))
        return try notes.noting {
            try recorder.request()
            guard let base else { throw SchemaRecorder.refusal(type) }
            return try recorder.value(type, in: base.document, at: Int(base.node))
        }
    }
}
