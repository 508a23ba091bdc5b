import JSONCoding
import Testing

@Suite("RFC 8259, as far as lines of JSON need it", .timeLimit(.minutes(60)))
struct LineTests {
    @Test(arguments: [
        "0", "-1.5e+3", "true", "null", "\"a\\\"b\"", "[]", "[1,[2,{\"a\":{}}]]", "{\"a\": 1 }",
    ])
    func `a single value is a line`(_ text: String) {
        #expect(JSON.isLine(Array(text.utf8)))
    }

    @Test(arguments: [
        "", " 1", "1 ", "01", "1.", "-", "1e", "tru", "\"a", "[1,]", "[1", "{\"a\"}", "{a:1}",
        "{\"a\":1,}", "1 2", "[1\n]", "\"\u{1}\"", "{\"a\":1}}", String(repeating: "[", count: 600),
    ])
    func `anything else is not a line`(_ text: String) {
        #expect(!JSON.isLine(Array(text.utf8)))
    }

    @Test(arguments: ["", "plain", "quote \" back \\ tab \t nul \u{0} é 😀", "\u{7F}/"])
    func `a string survives encoding and decoding`(_ text: String) throws {
        var line: [UInt8] = []
        JSON.appendString(text, to: &line)
        #expect(JSON.isLine(line))
        #expect(try JSON.decode(String.self, from: line) == text)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `members and elements keep their order at any depth`() {
        let deep = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
        let members = JSON.members(of: Array(#"{"a": {"b":[1, 2]},"é\n":\#(deep),"a":0}"#.utf8))
        #expect(members?.mapValues(text) == ["a": #"{"b":[1, 2]}"#, "é\n": deep])
        let elements = JSON.elements(of: Array(#"[1, {"a" :2},"x"]"#.utf8))
        #expect(elements?.map(text) == ["1", #"{"a" :2}"#, #""x""#])
        #expect(JSON.members(of: Array("{}".utf8)) == [:])
        #expect(JSON.elements(of: Array("[]".utf8)) == [])
    }

    @Test(arguments: ["", "[1]", "{\"a\":1", "{\"a\":1} ", "1"])
    func `a value that is no object has no members`(_ text: String) {
        #expect(JSON.members(of: Array(text.utf8)) == nil)
    }

    @Test(arguments: ["", "{}", "[1", "[1] ", "1"])
    func `a value that is no array has no elements`(_ text: String) {
        #expect(JSON.elements(of: Array(text.utf8)) == nil)
    }
}
