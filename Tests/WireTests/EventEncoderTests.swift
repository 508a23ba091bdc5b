import Testing
import WireFeeds

@testable import Wire

@Suite("HTML §9.2 — events as bytes", .timeLimit(.minutes(60)))
struct EventEncoderTests {
    private func text(_ build: (inout [UInt8]) -> Void) -> String {
        var out: [UInt8] = []
        build(&out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test func `an event consists of its name, its id and its data`() {
        let whole = text {
            EventEncoder.appendEvent(
                name: "alertMessage", id: "abcdefgh.7", data: "\"Hello\"", to: &$0)
        }
        #expect(whole == "event: alertMessage\nid: abcdefgh.7\ndata: \"Hello\"\n\n")
        let bare = text { EventEncoder.appendEvent(name: "ping", id: nil, data: "", to: &$0) }
        #expect(bare == "event: ping\ndata: \n\n")
        let caused = text {
            EventEncoder.appendEvent(name: "a", id: "g.1", cause: "k-1", data: "1", to: &$0)
        }
        #expect(caused == "event: a\nid: g.1\ncause: k-1\ndata: 1\n\n")
    }

    @Test(arguments: [
        ("", ["data: "]), ("a", ["data: a"]), ("a\nb", ["data: a", "data: b"]),
        ("a\r\nb", ["data: a", "data: b"]), ("a\rb", ["data: a", "data: b"]),
        ("\n", ["data: ", "data: "]), ("a\n", ["data: a", "data: "]),
        ("\r\r\n\n", ["data: ", "data: ", "data: ", "data: "]), (" a", ["data:  a"]),
        ("12345678\n12345678", ["data: 12345678", "data: 12345678"]),
        ("a\u{2028}b", ["data: a\u{2028}b"]),
    ])
    func `each line of the data is a line of the event`(data: String, lines: [String]) {
        let expected = lines.map { $0 + "\n" }.joined()
        #expect(text { EventEncoder.appendData(Array(data.utf8).span, to: &$0) } == expected)
    }

    @Test func `a reconnection time is a line`() {
        #expect(
            text { EventEncoder.appendRetry(milliseconds: 2_000, to: &$0) } == "retry: 2000\n")
    }

    @Test func `numbers are written as the library writes them`() {
        var number: UInt64 = 1
        var all: [UInt64] = [0, .max, .max - 1, 99_999_999, 100_000_000, 1_000_000_005]
        for _ in 0..<19 {
            all += [number - 1, number, number + 1, number * 9]
            number *= 10
        }
        for value in all {
            #expect(text { Decimal.append(value, to: &$0) } == String(value))
        }
    }
}
