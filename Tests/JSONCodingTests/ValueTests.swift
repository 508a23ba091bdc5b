import JSONCoding
import Testing

@Suite("JSONValue — any JSON, unchanged", .timeLimit(.minutes(60)))
struct ValueTests {
    private static let text =
        #"{"b":[1,1.0,1e400,-0,123456789012345678901234567890],"a":{"":null},"t":true,"b":"twice"}"#

    @Test func `numbers keep their text and members their order, doubles included`() throws {
        let value = try decodeStored(JSONValue.self, Self.text)
        #expect(try encode(value) == Self.text)
        #expect(value["b"]?[2] == .number("1e400"))
        #expect(value["b"]?[5] == nil)
        #expect(value["nope"] == nil)
        #expect(value[0] == nil)
        #expect(try encode(["x": value]) == #"{"x":\#(Self.text)}"#)
        struct Holder: Codable, Equatable { var value: JSONValue?, other: [JSONValue] }
        let holder = Holder(value: value, other: [.null, 1, "a"])
        #expect(try decodeStored(Holder.self, encode(holder)) == holder)
    }

    @Test func `RFC 8259 §8.3: texts and names are equal byte by byte`() throws {
        let (one, other) = ("\u{E9}", "e\u{301}")
        #expect(one == other)
        #expect(JSONValue.string(one) != .string(other))
        let value: JSONValue = [one: 1]
        #expect(value != [other: 1])
        #expect(value[one] == 1)
        #expect(value[other] == nil)
        let both = try decode(JSONValue.self, "{\"\(one)\":1,\"\(other)\":2}")
        #expect(both[one] == 1 && both[other] == 2)
    }

    @Test func `a text that is not a number can't be written as one`() throws {
        for text in ["", " 1", "1 ", "01", "NaN", "\"1\"", "1,2", "[1]", "null", "1\n"] {
            #expect(try failure(of: JSONValue.number(text)).reason.contains("not a number"))
            #expect(
                try failure(of: JSONValue.array([1, .number(text)])).reason.contains("not a number")
            )
        }
    }
}
