import Testing
import Wire

@testable import ReactorHosting

@Suite("RFC 9110 §12.5.1 — Accept", .timeLimit(.minutes(60)))
struct AcceptedTypesTests {
    private func accepted(_ lines: [String]) throws -> AcceptedTypes {
        AcceptedTypes(try HeadOf("GET", "/", lines.map { "Accept: \($0)" }).head)
    }

    @Test(
        arguments: [
            ([], 1_000), ([""], 0), (["*/*"], 1_000), (["text/*"], 1_000), (["text/html"], 0),
            (["TEXT/Event-Stream"], 1_000), (["text/event-stream;q=0"], 0),
            (["text/event-stream;q=0.000"], 0), (["*/*, text/event-stream;q=0"], 0),
            (["*/*, text/event-stream; q=0"], 0), (["text/*;q=0, */*"], 0),
            (["text/event-stream, text/*;q=0"], 1_000), (["text/event-stream;q=0.25"], 250),
            (["text/event-stream;charset=utf-8;Q=0.5"], 500), (["*/*;q=0.1"], 100),
            (["text/event-stream;q=1.000"], 1_000), (["text/event-stream;q=maybe"], 1_000),
            (["text/event-stream;q=2"], 1_000), (["text/event-stream;q="], 1_000),
            (["application/json", "text/event-stream"], 1_000),
            (["*/*", "text/event-stream;q=0"], 0), (["text", "event-stream"], 0),
            (["*/event-stream"], 0),
        ] as [([String], Int)])
    func `the weight of a type is that of the most precise range, over all lines`(
        lines: [String], weight: Int
    ) throws {
        #expect(try accepted(lines).weight(of: .eventStream) == weight)
    }

    @Test func `what comes after the 64th range is ignored`() throws {
        let other = Array(repeating: "a/b", count: AcceptedTypes.maximumRanges)
        let kept = Array(other.dropFirst())
        for (lines, weight) in [
            ([other.joined(separator: ","), "*/*"], 0),
            ([other.joined(separator: ",") + ",*/*"], 0),
            ([kept.joined(separator: ","), "*/*"], 1_000),
            ([kept.joined(separator: ",,") + ",*/*"], 1_000), (other + ["*/*"], 0),
        ] {
            #expect(try accepted(lines).weight(of: .eventStream) == weight)
        }
    }

    @Test(
        arguments: [
            ([], false), (["*/*"], false), (["application/json"], false),
            (["text/event-stream"], true),
            (["text/*"], true), (["application/json, text/event-stream"], true),
            (["application/json", "text/event-stream"], true),
            (["text/event-stream;q=0.5, application/json"], false),
            (["text/event-stream;q=0.5, application/json;q=0.4"], true),
            (["*/*, text/event-stream;q=0"], false), (["text/event-stream;q=0.9, */*;q=0.1"], true),
        ] as [([String], Bool)])
    func `a log is a stream if it is named and not wanted less than JSON`(
        lines: [String], isStream: Bool
    ) throws {
        let request = try HeadOf("GET", "/", lines.map { "Accept: \($0)" }).request
        #expect(ReadLog.wantsStream(request) == isStream)
    }
}
