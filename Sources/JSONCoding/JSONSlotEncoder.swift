internal import Reactors

/// Takes the one value that is due in a slot.
///
/// Design: two words, so that it lies within an `any Encoder` without memory of its own.
struct JSONSlotEncoder: Encoder {
    let writer: JSONWriter
    let slot: Int

    var codingPath: [any CodingKey] { writer.path(of: slot) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        let type = slot < writer.frames.count ? writer.frames[slot].type : nil
        let isTagged = type is any TaggedCodable.Type
        writer.fill(slot, with: isTagged ? .tag : .object)
        if !isTagged { order(type, as: .object) }
        return KeyedEncodingContainer(
            JSONFieldsWriter<Key>(writer: writer, frame: slot, role: isTagged ? .tag : .plain))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.fill(slot, with: .array)
        order(slot < writer.frames.count ? writer.frames[slot].type : nil, as: .array)
        return JSONElementsWriter(writer: writer, frame: slot)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    private func order(_ type: (any Any.Type)?, as kind: JSONFrame.Kind) {
        let order = JSONWriter.order(of: type, as: kind)
        if order != .written { writer.frames[slot].order = order }
    }
}

extension JSONSlotEncoder: SingleValueEncodingContainer {
    private func write(_ value: (JSONWriter) throws -> Void) throws {
        let mark = try writer.beginScalar(slot)
        do {
            try value(writer)
        } catch {
            writer.rollBack(mark, because: error)
            throw error
        }
        writer.finish(mark)
    }

    func encodeNil() throws { try write { $0.appendNull() } }
    func encode(_ value: Bool) throws { try write { $0.append(value) } }
    func encode(_ value: String) throws { try write { $0.append(value) } }
    func encode(_ value: Int) throws { try write { $0.append(value) } }
    func encode(_ value: Int8) throws { try write { $0.append(value) } }
    func encode(_ value: Int16) throws { try write { $0.append(value) } }
    func encode(_ value: Int32) throws { try write { $0.append(value) } }
    func encode(_ value: Int64) throws { try write { $0.append(value) } }
    func encode(_ value: Int128) throws { try write { $0.append(value) } }
    func encode(_ value: UInt) throws { try write { $0.append(value) } }
    func encode(_ value: UInt8) throws { try write { $0.append(value) } }
    func encode(_ value: UInt16) throws { try write { $0.append(value) } }
    func encode(_ value: UInt32) throws { try write { $0.append(value) } }
    func encode(_ value: UInt64) throws { try write { $0.append(value) } }
    func encode(_ value: UInt128) throws { try write { $0.append(value) } }
    func encode(_ value: Double) throws { try write { try $0.append(value) } }
    func encode(_ value: Float) throws { try write { try $0.append(value) } }

    func encode<Value: Encodable>(_ value: Value) throws {
        try write { try $0.encode(value) }
    }
}
