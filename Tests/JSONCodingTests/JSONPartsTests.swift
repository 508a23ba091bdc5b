import JSONCoding
import Testing

@Suite("RFC 6901 — several pointers into one document", .timeLimit(.minutes(60)))
struct JSONPartsTests {
    private static let documents = [
        #"{"a":1,"b":[10,{"c":"x,]}"},[]],"d":{"e":{"f":null}}}"#,
        #"[[1,2],{"0":true},"s"]"#, #"{"a\"b":{"":[3]},"":4}"#, #""text""#, "17", "{}", "[]",
        #" { "a" : [ 1 , 2 ] } "#,
    ]
    private static let pointers = [
        "", "/a", "/b", "/b/0", "/b/1", "/b/1/c", "/b/2", "/b/2/0", "/b/3", "/b/01", "/b/-", "/d",
        "/d/e", "/d/e/f", "/d/e/f/g", "/0", "/0/1", "/1", "/1/0", "/2", "/a\"b", "/a\"b//0", "/",
        "/none", "/a/1",
    ]

    @Test(arguments: documents) func `each is found where it is found alone`(document: String)
        throws
    {
        let bytes = Array(document.utf8)
        let tree = try JSON.decode(JSONValue.self, from: bytes)
        let pointers = try Self.pointers.map { try JSONPointer($0) }
        let parts = JSONParts(pointers, of: bytes)
        for pointer in pointers {
            let found = try parts[pointer].map { range in
                try JSON.decode(JSONValue.self, from: Array(bytes[range]))
            }
            #expect(found == Self.value(pointer, in: tree), "\(pointer)")
            #expect(JSON.slice(pointer, of: bytes) == parts[pointer], "\(pointer)")
        }
    }

    /// Evaluates a pointer on a tree (RFC 6901 §4).
    private static func value(_ pointer: JSONPointer, in tree: JSONValue) -> JSONValue? {
        pointer.tokens.reduce(tree as JSONValue?) { tree, token in
            switch tree {
            case .object?: tree?[token]
            case .array?: Int(token).flatMap { String($0) == token ? tree?[$0] : nil }
            default: nil
            }
        }
    }

    @Test func `names that are only canonically equal are two`() throws {
        let bytes = Array("{\"\u{E9}\":1,\"e\u{301}\":2,\"K\":3,\"\u{212A}\":4}".utf8)
        let pointers = try ["/\u{E9}", "/e\u{301}", "/K", "/\u{212A}"].map {
            try JSONPointer($0)
        }
        #expect(Set(pointers).count == 4)
        let parts = JSONParts(pointers, of: bytes)
        for (index, pointer) in pointers.enumerated() {
            let found = try #require(parts[pointer])
            #expect(Array(bytes[found]) == Array("\(index + 1)".utf8))
        }
    }

    @Test func `text that ends early, or is none, never traps`() throws {
        let pointers = try Self.pointers.map { try JSONPointer($0) }
        for document in Self.documents {
            let bytes = Array(document.utf8)
            for end in 0..<bytes.count {
                let parts = JSONParts(pointers, of: Array(bytes[..<end]))
                for pointer in pointers {
                    if let range = parts[pointer] { #expect(range.upperBound <= end) }
                }
            }
        }
    }
}
