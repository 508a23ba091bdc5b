/// The elements of one array, one after the other.
///
/// Design: three words, to fit an `any UnkeyedDecodingContainer` without an allocation.
struct JSONElements: UnkeyedDecodingContainer {
    private let document: JSONDocument
    private let array: UInt32
    private var place: UInt32
    private var passed: UInt32 = 0

    init(document: JSONDocument, array: UInt32) {
        self.document = document
        self.array = array
        place = array + 1
    }

    var codingPath: [any CodingKey] { document.path(to: Int(array)) }
    var count: Int? { Int(document.nodes[Int(array)].count) }
    var isAtEnd: Bool { place >= document.nodes[Int(array)].next }
    var currentIndex: Int { Int(passed) }

    /// Reads the next element; advances only if `read` succeeds.
    mutating func next<Value>(
        _ type: any Any.Type = Value.self, _ read: (Int) throws -> Value
    ) throws -> Value {
        guard !isAtEnd else { throw missingElement(type) }
        let value = try read(Int(place))
        pass()
        return value
    }

    private mutating func pass() {
        place = document.nodes[Int(place)].next
        passed += 1
    }

    private func missingElement(_ type: any Any.Type) -> DecodingError {
        .valueNotFound(
            type,
            .init(
                codingPath: codingPath + [JSONPathKey(currentIndex)],
                debugDescription: "the array has only \(currentIndex) elements"))
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw missingElement(Never?.self) }
        guard document.isNull(at: Int(place)) else { return false }
        pass()
        return true
    }

    @inline(__always)
    mutating func decode<Value: JSONScalar>(_: Value.Type) throws -> Value {
        try next { [document] in try Value.read(document, at: $0) }
    }

    mutating func decode(_: Int128.Type) throws -> Int128 {
        try next { [document] in try Int128.read(document, at: $0) }
    }

    mutating func decode(_: UInt128.Type) throws -> UInt128 {
        try next { [document] in try UInt128.read(document, at: $0) }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next { [document] in try document.value(type, at: $0) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy _: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next([String: Any].self) { [document] element in
            guard document.nodes[element].kind == .object else {
                throw document.mismatch([String: Any].self, "an object", at: element)
            }
            return KeyedDecodingContainer(
                JSONFields<NestedKey>(document: document, node: element, role: .plain))
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next([Any].self) { [document] element in
            guard document.nodes[element].kind == .array else {
                throw document.mismatch([Any].self, "an array", at: element)
            }
            return JSONElements(document: document, array: UInt32(element))
        }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next((any Decoder).self) { [document] element in
            JSONNodeDecoder(document: document, node: UInt32(element), type: Any.self)
        }
    }
}
