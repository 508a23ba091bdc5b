/// The members of an object being written, by a type's coding keys.
struct JSONFieldsWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    enum Role {
        /// Every key is a member.
        case plain
        /// A `TaggedCodable` enum in Swift's view: the only key is the case's name.
        case tag
        /// The same object in its second role: the case's fields, after its `type`.
        case body
    }

    let writer: JSONWriter
    let frame: Int
    let role: Role

    var codingPath: [any CodingKey] { writer.output.path(of: frame) }

    private func write(_ key: Key, _ value: (inout JSONOutput) throws -> Void) throws {
        if role != .plain { try refuse(key) }
        let name = key.stringValue
        try writer.output.member(frame, name, value)
    }

    private func refuse(_ key: Key) throws {
        if role == .tag { throw invalid(key, JSONTag.notAnEnum) }
        if key.stringValue == JSONTag.name { throw invalid(key, JSONTag.reserved) }
    }

    private func invalid(_ key: Key, _ reason: String) -> EncodingError {
        .invalidValue(key, .init(codingPath: codingPath, debugDescription: reason))
    }

    func encodeNil(forKey key: Key) throws { try write(key) { $0.appendNull() } }

    @inline(__always)
    func encode<Value: JSONScalar>(_ value: Value, forKey key: Key) throws {
        try write(key) { try value.write(to: &$0) }
    }

    func encode(_ value: Int128, forKey key: Key) throws {
        try write(key) { value.write(to: &$0) }
    }

    func encode(_ value: UInt128, forKey key: Key) throws {
        try write(key) { value.write(to: &$0) }
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        if role != .plain { try refuse(key) }
        let name = key.stringValue
        if frame == 0, role == .plain { writer.showMember?(name, value) }
        try writer.fill(writer.output.begin(frame, key: name), with: value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy _: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        if role == .tag {
            writer.output.beginCase(key.stringValue, in: frame)
            return KeyedEncodingContainer(
                JSONFieldsWriter<NestedKey>(writer: writer, frame: frame, role: .body))
        }
        return KeyedEncodingContainer(
            JSONFieldsWriter<NestedKey>(
                writer: writer, frame: open(.object, key.stringValue), role: .plain))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONElementsWriter(writer: writer, frame: open(.array, key.stringValue))
    }

    func superEncoder() -> any Encoder {
        JSONSlotEncoder(writer: writer, slot: open(.slot, "super"))
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        JSONSlotEncoder(writer: writer, slot: open(.slot, key.stringValue))
    }

    private func open(_ kind: JSONFrame.Kind, _ key: String) -> Int {
        if role == .tag { writer.output.recordMisuse(JSONTag.notAnEnum) }
        if role == .body, key == JSONTag.name { writer.output.recordMisuse(JSONTag.reserved) }
        if kind != .slot, let same = writer.output.opened(kind, under: key, in: frame) {
            return same
        }
        let mark = writer.output.begin(frame, key: key)
        let opened = writer.output.open(kind, in: frame)
        writer.output.finish(mark)
        return opened
    }
}
