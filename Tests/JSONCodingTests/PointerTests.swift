import JSONCoding
import Testing

@Suite("RFC 6901 — pointers into encoded bytes", .timeLimit(.minutes(60)))
struct PointerTests {
    private static let document =
        #"{"foo":["bar","baz",{"x":[1,{"y":"]}"}]}],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"#
        + #""k\"l":6," ":7,"m~n":8,"esc\u0061pe":-1.5e3,"é":"ü","n":null,"o":{},"foo":"second"}"#

    private func part(_ pointer: String, of text: String = document) throws -> String? {
        let bytes = Array(text.utf8)
        return JSON.slice(try JSONPointer(pointer), of: bytes).map {
            String(decoding: bytes[$0], as: UTF8.self)
        }
    }

    @Test(arguments: [
        ("/foo", #"["bar","baz",{"x":[1,{"y":"]}"}]}]"#), ("/foo/0", #""bar""#), ("/", "0"),
        ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"),
        ("/ ", "7"), ("/m~0n", "8"), ("/foo/2/x/1/y", #""]}""#), ("/foo/2/x/0", "1"),
        ("/escape", "-1.5e3"), ("/é", #""ü""#), ("/n", "null"), ("/o", "{}"),
    ])
    func `a pointer finds the value it names`(_ pointer: String, _ value: String) throws {
        #expect(try part(pointer) == value)
    }

    @Test func `the empty pointer is the whole document`() throws {
        #expect(try part("") == Self.document)
        #expect(try part("", of: "  7 ") == "7")
    }

    @Test(arguments: [
        "/nope", "/foo/3", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/-1", "/foo/1e0",
        "/foo/x",
        "/foo/", "/foo/0/x", "/n/x", "/o/x", "/foo/2/x/1/y/z", "/foo/99999999999999999999", "/fo",
        "//",
    ])
    func `a missing value is nil`(_ pointer: String) throws {
        #expect(try part(pointer) == nil)
    }

    @Test(arguments: ["a", "foo/0", " /", "/~", "/~2", "/a~", "/~~0", "#/foo", "/a/~a"])
    func `a malformed pointer is refused`(_ text: String) {
        #expect(throws: JSONPointer.Malformed.self) { try JSONPointer(text) }
    }

    @Test(arguments: ["", "/", "/a", "/a~1b/~0", "/~01", "//", "/é/0", "/\u{301}"])
    func `the text form is preserved`(_ text: String) throws {
        #expect(try JSONPointer(text).description == text)
    }

    @Test func `no pointer has more tokens than a document is deep`() throws {
        let deepest = String(repeating: "/0", count: 128)
        let document = String(repeating: "[", count: 128) + "7" + String(repeating: "]", count: 128)
        #expect(try part(deepest, of: document) == "7")
        #expect(throws: JSONPointer.Malformed.self) { try JSONPointer(deepest + "/") }
    }

    @Test func `tokens are unescaped once`() throws {
        #expect(try JSONPointer("/~01").tokens == ["~1"])
        #expect(try JSONPointer("/~10").tokens == ["/0"])
    }

    @Test func `white space between tokens does not matter`() throws {
        #expect(try part("/a/1", of: " { \"b\" : [ ] , \"a\" : [ 1 , 2 ] } ") == "2")
    }

    @Test func `bytes that are not JSON never trap`() throws {
        let whole = Array(Self.document.utf8)
        let pointers = try ["", "/foo/2/x/1/y", "/escape", "/o/x", "/k\"l"].map {
            try JSONPointer($0)
        }
        var found = 0
        for place in whole.indices {
            for byte in [0x00, 0x22, 0x5C, 0x5D, 0x7B, 0x7D, 0x2C, 0x3A, 0x75, 0xFF] as [UInt8] {
                var changed = whole
                changed[place] = byte
                for bytes in [changed, Array(whole[..<place])] {
                    for pointer in pointers {
                        guard let range = JSON.slice(pointer, of: bytes) else { continue }
                        #expect(range.upperBound <= bytes.count)
                        found += 1
                    }
                    _ = JSON.isArray(bytes)
                }
            }
        }
        #expect(found > 0)
    }

    @Test(arguments: [
        ("{\"a\":1}", "{\"a\":1}"), (" \n\t{\"a\": 1}\r\n", "{\"a\": 1}"), ("7", "7"),
        ("{\"a\":\n1}", nil), ("{\"a\":\r1}", nil), ("[1]", nil), (" [1]", nil), ("", nil),
        (" \n", nil),
    ])
    func `one value on one line is given without the space around it`(
        text: String, line: String?
    ) {
        let found = JSON.oneLine(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
        #expect(found == line)
    }

    @Test(arguments: [
        ("[1,2,3]", 3), ("[]", 0), (" [ ] ", 0), ("[[1,2],[3,4,5]]", 2),
        (#"[{"a":1,"b":[2,3]},4]"#, 2), (#"["a,b\",c","\\",","]"#, 3), ("[[[[,]]]]", 1),
        ("1,2,3,4", 0), (#"{"a":1,"b":2}"#, 0), (#"["open,,,,"#, 1), ("", 0), ("[1,2],3,4,5", 2),
    ])
    func `the elements of an array are counted without decoding it`(_ text: String, count: Int) {
        let bytes = Array(text.utf8)
        for limit in 1...6 {
            #expect(JSON.isArray(bytes, longerThan: limit) == (count > limit))
        }
    }

    @Test func `a count ends after the first element that is too many`() {
        // The rest is not JSON.
        #expect(JSON.isArray(Array("[1,2,3,]]]\"".utf8), longerThan: 2))
    }

    @Test func `isArray looks at the first byte only`() {
        #expect(JSON.isArray(Array(" \n[".utf8)))
        #expect(!JSON.isArray(Array("{\"a\":[]}".utf8)))
        #expect(!JSON.isArray([]))
    }
}
