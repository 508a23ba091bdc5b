import Testing

@testable import JSONCoding

@Suite("JSON — when two texts are one value", .timeLimit(.minutes(60)))
struct SameValueTests {
    private func areSame(_ one: String, _ other: String) -> Bool {
        JSON.areSame(Array(one.utf8), Array(other.utf8))
    }

    @Test(arguments: [
        ("1", "1.0"), ("1", "10e-1"), ("1e2", "100"), ("0", "-0.0"), ("0e9", "0"),
        ("-1.50", "-1.5"),
        (#"{"a":1,"b":[{"c":2,"d":3}]}"#, #"{ "b":[ {"d":3.0,"c":2} ],"a":1 }"#),
        (#""\u00e9\/""#, #""é/""#), ("[]", "[ ]"), ("{", "{"),
    ])
    func `order, space, escapes and the form of numbers do not matter`(one: String, other: String) {
        #expect(areSame(one, other))
        #expect(areSame(other, one))
    }

    @Test(arguments: [
        ("1", "-1"), ("1", "2"), ("1", "10"), ("1", "\"1\""), ("[1,2]", "[2,1]"), ("[1]", "[1,1]"),
        ("{}", "[]"), ("null", "{}"), ("0", "null"), ("0", "false"), (#"{"a":null}"#, "{}"),
        ("9007199254740993", "9007199254740992"), ("0.1", "0.1000000000000000055"),
        (#""é""#, #""e\u0301""#), (#"{"é":1}"#, #"{"e\u0301":1}"#), (#"{"a":1}"#, #"{"b":1}"#),
        ("{", "["),
    ])
    func `everything else does`(one: String, other: String) {
        #expect(!areSame(one, other))
        #expect(!areSame(other, one))
    }
}

@Suite("JSON Schema — a value that fits", .timeLimit(.minutes(60)))
struct SchemaSampleTests {
    private struct Inner: Codable, Equatable {
        var low: Int8
        var high: UInt64
    }

    private enum Kind: String, Codable { case big, small }

    private enum Price: Codable, Equatable {
        case fixed(amount: Double)
        case open
    }

    private final class Tree: Codable {
        var children: [Tree]
        init(children: [Tree]) { self.children = children }
    }

    private struct Everything: Codable {
        var text: String
        var isOn: Bool
        var names: [String]
        var inner: Inner
        var kind: Kind
        var price: Price
        var nothing: Inner?
        var table: [String: Int]
    }

    private func sample<Value: Codable>(of type: Value.Type) throws -> Value {
        let schema = SchemaBuilder(SchemaRecorder(), for: .accepted).schema(of: type)
        var bytes: [UInt8] = []
        try JSON.encode(schema.sample, into: &bytes)
        return try JSON.decode(type, from: bytes)
    }

    @Test func `one is made for each kind of Swift type`() throws {
        let value = try sample(of: Everything.self)
        #expect(value.text == "example")
        #expect(value.names == ["example"])
        #expect(value.inner == Inner(low: 1, high: 1))
        #expect(value.kind == .big)
        #expect(value.price == .fixed(amount: 1))
        #expect(value.nothing == nil)
        #expect(value.table == [:])
        #expect(try sample(of: [Int]?.self) == [1])
    }

    @Test func `none is made for a type that contains itself without end`() throws {
        #expect(throws: (any Error).self) { try sample(of: Tree.self) }
    }
}
