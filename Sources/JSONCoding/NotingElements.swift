/// Records the elements that a type requests, and passes the requests on to an array.
struct NotingElements: UnkeyedDecodingContainer {
    let recorder: SchemaRecorder
    let notes: SchemaNotes
    let document: JSONDocument
    var base: JSONElements

    var codingPath: [any CodingKey] { base.codingPath }
    var count: Int? { base.count }
    /// Also true when requests are refused: a type that skips what it cannot read would never end.
    var isAtEnd: Bool { recorder.isExhausted || base.isAtEnd }
    var currentIndex: Int { base.currentIndex }

    mutating func decode(_ type: Int128.Type) throws -> Int128 { try read(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try read(type) }

    /// For every other type. It also satisfies the requirements for concrete types, such as `Bool`.
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }

    private mutating func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        notes.add(.init(key: "", type: type, isOptional: false))
        let (recorder, document) = (recorder, document)
        return try notes.noting {
            try recorder.request()
            return try base.next { try recorder.value(type, in: document, at: $0) }
        }
    }

    mutating func decodeNil() throws -> Bool {
        notes.requestsNull = true
        return try notes.noting { try base.decodeNil() }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keys: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        notes.openOther()
        return try base.nestedContainer(keyedBy: keys)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        notes.openOther()
        return try base.nestedUnkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder {
        notes.openOther()
        return try base.superDecoder()
    }
}
