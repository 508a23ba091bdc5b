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

    @inline(__always)
    func decode<Value: JSONScalar>(_: Value.Type) throws -> Value {
        try Value.read(document, at: Int(node))
    }

    func decode(_: Int128.Type) throws -> Int128 { try Int128.read(document, at: Int(node)) }
    func decode(_: UInt128.Type) throws -> UInt128 { try UInt128.read(document, at: Int(node)) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try document.value(type, at: Int(node))
    }
}
