import JSONCoding
import Testing

@Suite("RFC 8259 — valid and invalid JSON", .timeLimit(.minutes(60)))
struct GrammarTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1", "-1", "10", "1.5", "0.1", "-0.1", "1e5", "1E5",
        "1e+5", "1e-5", "1.5e10", "0e0", "0.0", "123456789012345678901234567890", "1e400",
        "\"\"", "\"a\"", "\"\\\"\"", "\"\\\\\"", "\"\\/\"", "\"\\b\\f\\n\\r\\t\"", "\"\\u0000\"",
        "\"\\u00e9\"", "\"\\uD83D\\uDE00\"", "\"\\ud83d\\ude00\"", "\"é\"", "\"😀\"", "\"\u{7F}\"",
        "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"\u{FFFF}\"", "\"\u{10FFFF}\"", "[]", "[1]",
        "[1,2]", "[[]]", "[{}]", "{}", "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"\":0}",
        "{\"a\":{\"b\":[]}}", " 1 ", "\t\r\n 1\n", "[ ]", "{ }", "[ 1 , 2 ]", "{ \"a\" : 1 }",
        "{\"a\":1,\"A\":2}", "[null,true,false]",
    ])
    func `a valid text is accepted`(_ text: String) throws {
        _ = try decode(JSONValue.self, text)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "TRUE", "tru", "falsee", "undefined", "NaN", "Infinity",
        "-Infinity", "-", "+1", "01", "-01", "1.", ".5", "-.5", "1.e5", "1e", "1e+", "1e5.5", "0x1",
        "1_000", "1 2", "0123", "1a", "--1", "\"", "\"a", "'a'", "\"\\x41\"", "\"\\u12\"",
        "\"\\u123g\"", "\"\\U0041\"", "\"\\\"", "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\u{1F}\"",
        "\"\\uD83D\"", "\"\\uDE00\"", "\"\\uD83D\\u0041\"", "\"\\uD83Dx\"", "\"\\uD83D\\n\"",
        "\"\\uDE00\\uD83D\"", "\"\\uD83D\\uD83D\"", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]",
        "[1 2]", "[1]]", "[1}", "{", "}", "{]", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{\"a\":1,}",
        "{,}", "{1:1}", "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{\"a\":1,,\"b\":2}", "{\"a\"::1}",
        "{null:1}", "//\n1", "/**/1", "1//", "[1]x", "{}{}", "\u{FEFF}1", "\u{A0}1", "\u{C}1",
        "[1;2]",
        "\u{0}", "1\u{0}", "#", "@", "[\"a\",\n4\n,1,",
    ])
    func `an invalid text is refused as malformed`(_ text: String) throws {
        guard case .malformed(let offset, let reason) = try refusal(JSONValue.self, text) else {
            Issue.record("refused, but not as malformed")
            return
        }
        #expect((0...text.utf8.count).contains(offset))
        #expect(!reason.isEmpty)
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0x81], [0xC2], [0xC2, 0x41], [0xE0, 0x9F, 0x80],
            [0xE0, 0x80, 0xAF], [0xE1, 0x80], [0xE1, 0x80, 0x41], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF],
            [0xEF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF1, 0x80, 0x80],
            [0xF1, 0x80, 0x80, 0x41], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE],
            [0xFF],
            [0xF8, 0x88, 0x80, 0x80, 0x80],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused in values, keys and skipped parts`(
        _ sequence: [UInt8]
    ) {
        let string = [0x22] + sequence + [0x22]
        let texts = [
            string, [0x7B] + string + Array(":1}".utf8), [0x5B, 0x30, 0x2C] + string + [0x5D],
            sequence, [0x22] + sequence,
        ]
        for text in texts {
            #expect(throws: JSONRefusal.self) { try JSON.decode(JSONValue.self, from: text) }
            #expect(throws: JSONRefusal.self) { try JSON.decode([Int].self, from: text) }
        }
    }

    @Test func `every Unicode scalar is written and read`() throws {
        var text = ""
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 1)
        where value < 0x3000 || value % 251 == 0 {
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        let encoded = try encode(text)
        #expect(try decode(String.self, encoded).utf8.elementsEqual(text.utf8))
        #expect(!encoded.utf8.contains { $0 < 0x20 })
    }

    @Test func `containers may be nested 128 deep and no deeper`() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let fill = open == "[" ? "" : "0"
            func nested(_ depth: Int) -> String {
                String(repeating: open, count: depth) + fill
                    + String(repeating: close, count: depth)
            }
            _ = try decode(JSONValue.self, nested(128))
            guard case .malformed(let offset, _) = try refusal(JSONValue.self, nested(129)) else {
                Issue.record("refused, but not as malformed")
                return
            }
            #expect(offset == 128 * open.utf8.count)
            _ = try refusal(JSONValue.self, String(repeating: open, count: 500_000))
        }
    }

    @Test func `a truncated text is refused, wherever it ends`() throws {
        let text =
            #" {"type":"alert","a":[1,-2.5e-3,true,false,null,"\u00e9\uD83D\uDE00é😀\n"],"b":{"":{}}} "#
        let bytes = Array(text.utf8)
        let whole = try JSON.decode(JSONValue.self, from: bytes)
        for length in bytes.indices {
            let prefix = Array(bytes[..<length])
            if length == bytes.count - 1 {
                #expect(try JSON.decode(JSONValue.self, from: prefix) == whole)
            } else {
                #expect(throws: JSONRefusal.self) { try JSON.decode(JSONValue.self, from: prefix) }
            }
        }
    }

    @Test func `a random byte at any position never traps`() {
        let text = Array(#"{"type":"a","x":[1,-2.5e-3,"\u00e9\uD83D\uDE00é😀"],"b":{"":{}}}"#.utf8)
        var accepted = 0
        for place in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[place] = byte
                if case .success = Result(catching: {
                    try JSON.decode(JSONValue.self, from: changed)
                }) {
                    accepted += 1
                }
            }
        }
        #expect(accepted >= text.count)
        #expect(accepted < text.count * 256)
    }

    @Test func `white space is the four bytes of the RFC, between all tokens`() throws {
        let space = " \t\r\n"
        let tokens = [
            "{", "\"a\"", ":", "[", "1", ",", "null", "]", ",", "\"b\"", ":", "{", "}", "}",
        ]
        let spaced = space + tokens.map { $0 + space }.joined()
        #expect(try decode(JSONValue.self, spaced) == decode(JSONValue.self, tokens.joined()))
    }
}
