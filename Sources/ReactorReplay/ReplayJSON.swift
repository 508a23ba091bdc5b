internal import JSONCoding
internal import Reactors

enum ReplayJSON {
    /// The value; a string that says so for a value without JSON, which differs from every other.
    static func encoded(_ value: some Encodable) -> [UInt8] {
        var out: [UInt8] = []
        do {
            try JSON.encode(value, into: &out)
            return out
        } catch {
            return Array("\"a value without JSON\"".utf8)
        }
    }

    static func text(_ value: some Encodable) -> String {
        String(decoding: encoded(value), as: UTF8.self)
    }

    static func bytes(_ value: JSONValue) -> [UInt8] { encoded(value) }

    static func sentence(of error: any Error) -> String {
        (error as? JSONRefusal)?.sentence ?? String(describing: error)
    }
}

/// A saved value in the form of the code that saved it.
struct SavedJSON: SavedValueDecoder {
    let bytes: [UInt8]

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSON.decode(type, stored: bytes)
    }
}

/// The value of a pulse as JSON; empty if it has none.
struct PulseText: PulseValueVisitor {
    private(set) var bytes: [UInt8] = []

    mutating func visit<Value: Encodable>(_ value: Value) { bytes = ReplayJSON.encoded(value) }
}
