import Testing

@testable import ReactorHosting

@Suite("W3C Trace Context §3.2, §4 — the traceparent field (case 153)", .timeLimit(.minutes(60)))
struct TraceParentTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"

    @Test(arguments: ["00", "01", "ff", "0a"])
    func `version 00 is kept as received`(flags: String) {
        let field = "00-\(Self.trace)-\(Self.parent)-\(flags)"
        #expect(field.utf8.count == 55)
        #expect(TraceParent(field)?.text == field)
    }

    @Test(arguments: [
        "", "00", "-", "---", "00-\(trace)-\(parent)-0", "00-\(trace)-\(parent)-011",
        "00-\(trace)-\(parent)-01-", "00-\(trace)-\(parent)-01-00",
        "00-\(trace)-\(parent)-01-" + String(repeating: "a", count: 15_000),
        "00-\(trace)-\(parent)", "00\(trace)-\(parent)-01-a",
        "00-\(trace.uppercased())-\(parent)-01", "00-\(trace)-\(parent)-0A",
        "00-\(trace.dropLast())g-\(parent)-01", "00-\(trace.dropLast())-\(parent)a-01",
        "00_\(trace)_\(parent)_01", "00-\(trace)-\(parent.dropLast())é-1",
        "00-\(String(repeating: "0", count: 32))-\(parent)-01",
        "00-\(trace)-\(String(repeating: "0", count: 16))-01",
        "ff-\(trace)-\(parent)-01", "ff-\(trace)-\(parent)-01-a", " 00-\(trace)-\(parent)-01",
    ])
    func `everything else of version 00, and version ff, is ignored`(field: String) {
        #expect(TraceParent(field) == nil)
    }

    @Test(arguments: [
        ("01", "01", "", "01"), ("01", "fe", "", "00"), ("cc", "ff", "-", "01"),
        ("cc", "0b", "-what-comes.later", "01"),
        ("fe", "08", "-" + String(repeating: "x", count: 15_000), "00"),
    ])
    func `of a later version the parts of version 00 are kept`(
        version: String, flags: String, rest: String, kept: String
    ) {
        let field = "\(version)-\(Self.trace)-\(Self.parent)-\(flags)\(rest)"
        #expect(TraceParent(field)?.text == "00-\(Self.trace)-\(Self.parent)-\(kept)")
    }

    @Test func `a later version ends after its flags or continues with a dash`() {
        #expect(TraceParent("01-\(Self.trace)-\(Self.parent)-01.") == nil)
        #expect(TraceParent("01-\(Self.trace)-\(Self.parent)-0") == nil)
    }
}
