import Testing

@testable import Wire

@Suite("RFC 3986 §2.1 — escapes, segments and query items", .timeLimit(.minutes(60)))
struct TargetTests {
    private func decoded(_ text: String) throws -> String {
        let bytes = Array(text.utf8)
        return try PercentEncoding.decoded(bytes, 0..<bytes.count, ofItem: 7)
    }

    @Test(arguments: [
        ("abc", "abc"), ("", ""), ("a%20b", "a b"), ("%41%5a%7e", "AZ~"), ("%c3%A9", "é"),
        ("%F0%9F%98%80", "😀"), ("a+b%2B", "a b+"), ("%2F%3f%25", "/?%"), ("%00", "\u{0}"),
    ])
    func `escapes are decoded`(text: String, plain: String) throws {
        #expect(try decoded(text) == plain)
    }

    @Test(arguments: ["%", "%4", "a%", "%zz", "%4g", "%%41", "% 41", "%+1"])
    func `an invalid escape is refused`(text: String) {
        #expect(throws: RequestRefusal.malformedEscape(inItem: 7)) { try decoded(text) }
    }

    @Test(arguments: ["%ff", "%c3", "%c3%28", "%ed%a0%80", "%c0%af", "%f4%90%80%80"])
    func `bytes that are not UTF-8 are refused`(text: String) {
        #expect(throws: RequestRefusal.malformedText(inItem: 7)) { try decoded(text) }
    }

    private func items(_ query: String?, limit: Int = 100) throws(RequestRefusal) -> QueryItems {
        let bytes = Array(("??" + (query ?? "")).utf8)
        return try QueryItems(bytes, query.map { _ in 2..<bytes.count }, limit: limit)
    }

    @Test(arguments: [
        ("a=b", ["a=b"]), ("a=b&c=d", ["a=b", "c=d"]), ("a", ["a="]), ("a=", ["a="]),
        ("=b", ["=b"]), ("a=b=c", ["a=b=c"]), ("&&a=1&&", ["a=1"]), ("&", []), ("", []),
        ("a=1&a=2", ["a=1", "a=2"]), ("a+b=c%26d+e", ["a b=c&d e"]), ("=", ["="]),
    ])
    func `items are name and value`(query: String, pairs: [String]) throws {
        #expect(try items(query).items.map { "\($0.name)=\($0.value)" } == pairs)
    }

    @Test func `items are found by name`() throws {
        let found = try items("pulse=a&x=1&pulse=b")
        #expect(found.first("pulse") == "a")
        #expect(found.values("pulse") == ["a", "b"])
        #expect(found.first("none") == nil)
        #expect(found.items.count == 3)
        #expect(try items(nil).items.isEmpty)
    }

    @Test func `a refused item is named by its number`() {
        #expect(throws: RequestRefusal.malformedEscape(inItem: 2)) { try items("a=1&b=%2") }
        #expect(throws: RequestRefusal.malformedText(inItem: 1)) { try items("%ff=1") }
        #expect(RequestRefusal.malformedEscape(inItem: 2).detail.contains("Item 2"))
    }

    @Test func `an escape does not cross an item's end`() {
        #expect(throws: RequestRefusal.malformedEscape(inItem: 1)) { try items("a%4&1=b") }
    }

    @Test func `items are read up to their limit and refused beyond`() throws {
        #expect(try items("a&b&c", limit: 3).items.count == 3)
        #expect(throws: RequestRefusal.tooManyItems(limit: 2)) { try items("a&b&c", limit: 2) }
        #expect(RequestRefusal.tooManyItems(limit: 2).status == 400)
    }

    @Test func `a range of a head is compared by its bytes`() throws {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        let bytes = Array("GET /v1/Sessions HTTP/1.0\r\n\r\n".utf8)
        _ = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        let start = head.path.lowerBound
        let (version, sessions) = (start + 1..<start + 3, start + 4..<head.path.upperBound)
        #expect(head.matches(version, "v1"))
        #expect(!head.matches(version, "v2"))
        #expect(!head.matches(version, "v"))
        #expect(!head.matches(sessions, "sessions"))
        #expect(head.matches(sessions, ignoringCase: "sessions"))
    }
}
