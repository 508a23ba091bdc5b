internal import Reactors

/// Decodes one node as any value that a type requests.
///
/// Design: three words, so that it fits into an `any Decoder` without an allocation.
struct JSONNodeDecoder: Decoder {
    let document: JSONDocument
    let node: UInt32
    /// The type being read. Only a request for fields checks whether it is `TaggedCodable`.
    let type: any Any.Type

    var codingPath: [any CodingKey] { document.path(to: Int(node)) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try fields(keyedBy: keys))
    }

    func fields<Key: CodingKey>(keyedBy _: Key.Type) throws -> JSONFields<Key> {
        let node = Int(node)
        guard document.nodes[node].kind == .object else {
            throw document.mismatch(type, "an object", at: node)
        }
        guard type is any TaggedCodable.Type else {
            return JSONFields<Key>(document: document, node: node, role: .plain)
        }
        let tag = try JSONTag.find(in: document, of: node)
        return JSONFields<Key>(document: document, node: node, role: .tag, tag: tag)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try elements() }

    func elements() throws -> JSONElements {
        guard document.nodes[Int(node)].kind == .array else {
            throw document.mismatch(type, "an array", at: Int(node))
        }
        return JSONElements(document: document, array: node)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension JSONNodeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { document.isNull(at: Int(node)) }
    func decode(_: Bool.Type) throws -> Bool { try document.bool(at: Int(node)) }
    func decode(_: String.Type) throws -> String { try document.string(at: Int(node)) }
    func decode(_: Double.Type) throws -> Double { try document.double(at: Int(node)) }
    func decode(_: Float.Type) throws -> Float { try document.float(at: Int(node)) }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try document.value(type, at: Int(node))
    }

    private func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        try document.integer(type, at: Int(node))
    }
}
