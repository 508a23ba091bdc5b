import Testing

@testable import Wire

@Suite("HTML §9.2 — events as bytes", .timeLimit(.minutes(60)))
struct EventEncoderTests {
    private func text(_ build: (inout [UInt8]) -> Void) -> String {
        var out: [UInt8] = []
        build(&out)
        return String(decoding: out, as: UTF8.self)
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
