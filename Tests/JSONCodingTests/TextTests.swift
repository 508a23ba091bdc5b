import JSONCoding
import Testing

@Suite("RFC 8259 §7 — text", .timeLimit(.minutes(60)))
struct TextTests {
    @Test func `every escape is read`() throws {
        let text = #""\"\\\/\b\f\n\r\t\u0041\u00E9\u00e9\u20AC\uD834\uDD1E""#
        #expect(try decode(String.self, text) == "\"\\/\u{8}\u{C}\n\r\tAéé€𝄞")
    }

    @Test func `exactly the required characters are escaped`() throws {
        #expect(
            try encode("\"\\/\u{8}\u{C}\n\r\t\u{0}\u{1F}\u{7F}é€𝄞\u{2028}")
                == "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7F}é€𝄞\u{2028}\"")
    }

    @Test func `an escape is written at the start, in the middle and at the end`() throws {
        #expect(try encode("\nab") == #""\nab""#)
        #expect(try encode("a\nb") == #""a\nb""#)
        #expect(try encode("ab\n") == #""ab\n""#)
        #expect(try encode(["a\nb": 1]) == #"{"a\nb":1}"#)
        #expect(try decode([String: Int].self, #"{"a\nb":1,"\u0061":2}"#) == ["a\nb": 1, "a": 2])
    }

    /// The encoder looks at eight bytes at a time, so a character may be at any offset among them.
    @Test func `a character is written alike at each offset`() throws {
        for scalar in (0x00...0xFF).map({ Unicode.Scalar($0 as UInt8) }) + ["\u{2028}", "😀"] {
            let written = try encode(String(scalar)).dropFirst().dropLast()
            for place in 0...17 {
                let before = String(repeating: "a", count: place)
                let after = String(repeating: "b", count: 17 - place)
                let text = before + String(scalar) + after
                #expect(try encode(text) == "\"\(before)\(written)\(after)\"")
            }
        }
    }

    @Test func `appendString is the same text as encode's`() throws {
        for text in ["", "a", "\"", "line\nline", "é😀"] {
            var out: [UInt8] = []
            JSON.appendString(text, to: &out)
            #expect(try String(decoding: out, as: UTF8.self) == encode(text))
        }
    }

    @Test func `keys that are only canonically equivalent are different keys`() throws {
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        struct Keys: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Reader: Decodable {
            var composed: Int?
            var decomposed: Int?
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                composed = try container.decodeIfPresent(
                    Int.self, forKey: Keys(stringValue: "\u{E9}"))
                decomposed = try container.decodeIfPresent(
                    Int.self, forKey: Keys(stringValue: "e\u{301}"))
            }
        }
        let reader = try decode(Reader.self, "{\"\(decomposed)\":1,\"\(composed)\":2}")
        #expect(reader.composed == 2)
        #expect(reader.decomposed == 1)
    }

    @Test func `a megabyte is written and read`() throws {
        for unit in ["a", "é", "\n", "😀", "\"\\"] {
            let text = String(repeating: unit, count: 1 << 20)
            #expect(try decode(String.self, encode(text)) == text)
        }
    }
}
