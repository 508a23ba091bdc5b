/// Records what a type requests, and passes it on to the decoder of a value; without one, refuses
/// each request.
struct NotingDecoder: Decoder {
    let recorder: SchemaRecorder
    let notes: SchemaNotes
    /// Nil if there is no value.
    let base: JSONNodeDecoder?

    var codingPath: [any CodingKey] { base?.codingPath ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
        notes.open(.fields, keys)
        let fields = try noting { try base?.fields(keyedBy: keys) }
        return KeyedDecodingContainer(
            NotingFields<Key>(recorder: recorder, notes: notes, base: fields))
    }

    /// Refused without a value: a type may read until the end, and there is none.
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        notes.open(.elements)
        return try noting {
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

    private func noting<Value>(_ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            notes.fail()
            throw error
        }
    }
}

extension NotingDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        notes.requestsNull = true
        return base?.decodeNil() ?? false
    }

    func decode(_ type: Bool.Type) throws -> Bool { try read(type) }
    func decode(_ type: String.Type) throws -> String { try read(type) }
    func decode(_ type: Double.Type) throws -> Double { try read(type) }
    func decode(_ type: Float.Type) throws -> Float { try read(type) }
    func decode(_ type: Int.Type) throws -> Int { try read(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try read(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try read(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try read(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try read(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try read(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try read(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try read(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try read(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try read(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try read(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try read(type) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }

    private func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        notes.add(.init(key: "", type: type, isOptional: false))
        return try noting {
            try recorder.request()
            guard let base else { throw SchemaRecorder.refusal(type) }
            return try recorder.value(type, in: base.document, at: Int(base.node))
        }
    }
}
