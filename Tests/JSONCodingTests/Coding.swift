import JSONCoding
import Testing

/// Decodes text.
func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, _ text: String
) throws(JSONRefusal) -> Value {
    try JSON.decode(type, from: Array(text.utf8))
}

/// Decodes text as stored by this service, over another text.
func decodeStored<Value: Decodable>(
    _ type: Value.Type = Value.self, _ text: String, over fallback: String? = nil
) throws(JSONRefusal) -> Value {
    let bytes = fallback.map { Array($0.utf8) }
    return try JSON.decode(type, stored: Array(text.utf8), over: bytes.map { bytes in { bytes } })
}

/// Encodes to text, after other bytes that must stay unchanged.
func encode<Value: Encodable>(_ value: Value) throws -> String {
    var out: [UInt8] = [0x21]
    try JSON.encode(value, into: &out)
    #expect(out.first == 0x21)
    return String(decoding: out.dropFirst(), as: UTF8.self)
}

/// The refusal of text that must not decode.
func refusal<Value: Decodable>(
    _ type: Value.Type, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
) throws -> JSONRefusal {
    try #require(throws: JSONRefusal.self, sourceLocation: sourceLocation) {
        _ = try decode(type, text)
    }
}

/// The failure of a value that must not encode; no byte of it may stay.
func failure<Value: Encodable>(
    of value: Value, sourceLocation: SourceLocation = #_sourceLocation
) throws -> JSONEncodingFailure {
    var out: [UInt8] = [0x21]
    let failure = try #require(throws: JSONEncodingFailure.self, sourceLocation: sourceLocation) {
        try JSON.encode(value, into: &out)
    }
    #expect(out == [0x21], sourceLocation: sourceLocation)
    return failure
}
