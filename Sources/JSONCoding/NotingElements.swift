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

    private mutating func noting<Value>(_ read: (inout Self) throws -> Value) throws -> Value {
        do {
            return try read(&self)
        } catch {
            notes.fail()
            throw error
        }
    }

    private mutating func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        notes.add(.init(key: "", type: type, isOptional: false))
        let (recorder, document) = (recorder, document)
        return try noting { elements in
            try recorder.request()
            return try elements.base.next { try recorder.value(type, in: document, at: $0) }
        }
    }

    mutating func decodeNil() throws -> Bool {
        notes.requestsNull = true
        return try noting { try $0.base.decodeNil() }
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

extension NotingElements {
    mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type) }
    mutating func decode(_ type: String.Type) throws -> String { try read(type) }
    mutating func decode(_ type: Double.Type) throws -> Double { try read(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try read(type) }
    mutating func decode(_ type: Int.Type) throws -> Int { try read(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try read(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try read(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try read(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try read(type) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try read(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try read(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try read(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try read(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try read(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try read(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try read(type) }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }
}
