internal import Reactors

/// Encodes the one value of a slot.
///
/// Design: three words, so that it fits into an `any Encoder` without an allocation.
struct JSONSlotEncoder: Encoder {
    let writer: JSONWriter
    let slot: Int
    var type: (any Any.Type)?

    var codingPath: [any CodingKey] { writer.output.path(of: slot) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        if let type, type is any TaggedCodable.Type {
            writer.output.fill(slot, with: .tag)
            return KeyedEncodingContainer(
                JSONFieldsWriter<Key>(writer: writer, frame: slot, role: .tag))
        }
        writer.output.fill(slot, with: .object)
        // A dictionary's key type contains text; key types that fit into a word are field names.
        if MemoryLayout<Key>.size > MemoryLayout<Int>.size {
            writer.output.sortAtEnd(slot, of: type)
        }
        return KeyedEncodingContainer(
            JSONFieldsWriter<Key>(writer: writer, frame: slot, role: .plain))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.output.fill(slot, with: .array)
        writer.output.sortAtEnd(slot, of: type)
        return JSONElementsWriter(writer: writer, frame: slot)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension JSONSlotEncoder: SingleValueEncodingContainer {
    private func write(_ value: (inout JSONOutput) throws -> Void) throws {
        try writer.output.scalar(slot, value)
    }

    func encodeNil() throws { try write { $0.appendNull() } }

    @inline(__always)
    func encode<Value: JSONScalar>(_ value: Value) throws {
        try write { try value.write(to: &$0) }
    }

    func encode(_ value: Int128) throws { try write { value.write(to: &$0) } }
    func encode(_ value: UInt128) throws { try write { value.write(to: &$0) } }

    func encode<Value: Encodable>(_ value: Value) throws {
        try writer.fill(writer.output.beginScalar(slot), with: value)
    }
}
