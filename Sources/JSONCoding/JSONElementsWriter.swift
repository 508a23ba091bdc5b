/// The elements of an array being written.
///
/// Design: two words, so that it fits into an `any UnkeyedEncodingContainer` without an allocation.
struct JSONElementsWriter: UnkeyedEncodingContainer {
    let writer: JSONWriter
    let frame: Int

    var codingPath: [any CodingKey] { writer.output.path(of: frame) }
    var count: Int { writer.output.count(of: frame) }

    private func write(_ value: (inout JSONOutput) throws -> Void) throws {
        try writer.output.element(frame, value)
    }

    func encodeNil() throws { try write { $0.appendNull() } }

    @inline(__always)
    func encode<Value: JSONScalar>(_ value: Value) throws {
        try write { try value.write(to: &$0) }
    }

    func encode(_ value: Int128) throws { try write { value.write(to: &$0) } }
    func encode(_ value: UInt128) throws { try write { value.write(to: &$0) } }

    func encode<Value: Encodable>(_ value: Value) throws {
        try writer.fill(writer.output.begin(frame), with: value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy _: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(
            JSONFieldsWriter<NestedKey>(writer: writer, frame: open(.object), role: .plain))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONElementsWriter(writer: writer, frame: open(.array))
    }

    func superEncoder() -> any Encoder {
        JSONSlotEncoder(writer: writer, slot: open(.slot))
    }

    private func open(_ kind: JSONFrame.Kind) -> Int {
        let mark = writer.output.begin(frame)
        let opened = writer.output.open(kind, in: frame)
        writer.output.finish(mark)
        return opened
    }
}
