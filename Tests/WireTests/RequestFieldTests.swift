import Testing
import WireFeeds

@testable import Wire

@Suite("RFC 9112 §5 — field lines", .timeLimit(.minutes(60)))
struct RequestFieldTests {
    private func request(_ lines: String...) -> String {
        "GET / HTTP/1.1\r\nHost: x\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    @Test func `white space around a value is not part of it`() throws {
        let read = try oneRequest(request("A:b", "C: d", "E:\t f \t", "G:", "H: ", "I: j k\tl"))
        #expect(read.fields == ["Host:x", "A:b", "C:d", "E:f", "G:", "H:", "I:j k\tl"])
    }

    @Test func `bytes above 127 in a value are kept`() throws {
        #expect(try oneRequest(request("A: héllo")).fields.last == "A:héllo")
    }

    @Test func `every token character may occur in a name`() throws {
        let name = "!#$%&'*+-.^_`|~019azAZ"
        #expect(try oneRequest(request("\(name): v")).fields.last == "\(name):v")
    }

    @Test(arguments: [
        (" A: b", "folded_field", "line 2"), ("\tA: b", "folded_field", "line 2"),
        ("Accept: a\r\n b", "folded_field", "line 3"),
        ("A : b", "space_before_colon", "line 2"),
        ("Accept\t: b", "space_before_colon", "Accept"),
        (": b", "empty_field_name", "line 2"), ("Abc", "missing_colon", "line 2"),
        ("A B: c", "forbidden_field_name_character", "line 2"),
        ("A(: c", "forbidden_field_name_character", "line 2"),
        ("é: c", "forbidden_field_name_character", "line 2"),
        ("A\u{0}: c", "forbidden_field_name_character", "line 2"),
        ("User-Agent: a\u{0}b", "forbidden_field_value_character", "User-Agent"),
        ("A: 12345678\u{1f}", "forbidden_field_value_character", "line 2"),
        ("A: \u{7f}2345678", "forbidden_field_value_character", "line 2"),
        ("A: b\rc", "bare_carriage_return", "line 2"),
        ("A\rB: c", "bare_carriage_return", "line 2"),
        ("A: b\r", "bare_carriage_return", "line 2"), ("\r", "bare_carriage_return", "line 2"),
        ("A: b\nC: d", "bare_line_feed", "line 2"),
        ("\n", "bare_line_feed", "line 2"),
    ])
    func `a bad field line is refused and named`(line: String, code: String, place: String) {
        let refusal = everyWay(request(line)).refusal
        #expect(refusal?.code == code)
        #expect(refusal?.status == 400)
        #expect(refusal?.detail.contains(place) == true)
    }

    @Test func `every control character in a value except the tab is refused`() {
        for byte in UInt8(0)...0x7f where byte < 0x20 || byte == 0x7f {
            for filler in [0, 3, 8, 13] {
                var bytes = Array("GET / HTTP/1.1\r\nHost: x\r\nA: ".utf8)
                bytes += Array(repeating: 0x61, count: filler) + [byte, 0x62]
                bytes += Array("\r\n\r\n".utf8)
                let reading = feed(bytes)
                #expect(reading == feed(bytes, cutAt: Array(0..<bytes.count)))
                #expect((reading.refusal == nil) == (byte == 0x09), "\(byte) after \(filler)")
            }
        }
    }

    @Test func `a head is read up to its limit and refused beyond`() {
        let text = request("A: " + String(repeating: "b", count: 50))
        var limits = RequestLimits()
        limits.headBytes = text.utf8.count
        #expect(everyWay(text, limits: limits).requests.count == 1)
        limits.headBytes -= 1
        let refusal = everyWay(text, limits: limits).refusal
        #expect(refusal == .headTooLarge(limit: limits.headBytes))
        #expect(refusal?.status == 431)
    }

    @Test func `fields are read up to their number and refused beyond`() {
        var limits = RequestLimits()
        limits.fieldCount = 3
        #expect(everyWay(request("A: b", "C: d"), limits: limits).requests.count == 1)
        let refusal = everyWay(request("A: b", "C: d", "E: f"), limits: limits).refusal
        #expect(refusal == .tooManyFields(limit: 3))
        #expect(refusal?.status == 431)
    }

    @Test func `a known field is found regardless of case`() throws {
        for field in KnownField.allCases {
            let name = field.name
            let variants = [name, name.lowercased(), name.uppercased()]
            for variant in variants {
                var table = FieldTable()
                let bytes = Array("\(variant): v".utf8)
                try table.append(0..<bytes.count, number: 1, in: bytes.span)
                #expect(table.first(field) == (name.utf8.count + 2)..<bytes.count)
                #expect(KnownField.allCases.filter(table.contains) == [field])
            }
            #expect(name.utf8.count <= KnownField.longestName)
        }
        #expect(KnownField.allCases.count <= 64, "one bit each in a field table")
    }

    @Test func `a name similar to a known one is not mistaken for it`() throws {
        for field in KnownField.allCases {
            let name = Array(field.name.utf8)
            var near = [name + [0x78], Array(name.dropLast()), [0x78] + name]
            for index in name.indices {
                var changed = name
                changed[index] = name[index] == 0x7a ? 0x79 : 0x7a
                near.append(changed)
            }
            for other in near where !other.isEmpty {
                var table = FieldTable()
                let bytes = other + Array(": v".utf8)
                try table.append(0..<bytes.count, number: 1, in: bytes.span)
                #expect(!table.contains(field), "\(String(decoding: other, as: UTF8.self))")
            }
        }
    }

    @Test func `all lines of one name are listed in order`() throws {
        let bytes = Array(request("Accept: a", "Via: x", "ACCEPT: b, c", "Accept:").utf8)
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        _ = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        #expect(head.values(of: .accept).map(head.text) == ["a", "b, c", ""])
        #expect(head.text(of: .accept) == "a")
        #expect(head.range(of: .ifMatch) == nil)
        #expect(head.values(of: .ifMatch).map(head.text).isEmpty)
    }
}
