import Sockets
import Testing

@testable import Clustering

@Suite("A fault that recurs has one line in a while", .timeLimit(.minutes(60)))
struct LogLimitTests {
    private func time(_ seconds: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: seconds * 1_000_000_000)
    }

    @Test func `a line has the number of those that were omitted before it`() {
        var limit = LogLimit<String>()
        #expect(limit.admit("a", at: time(0)) == 0)
        #expect(limit.admit("b", at: time(1)) == 0)
        for second in 1...9 { #expect(limit.admit("a", at: time(Int64(second))) == nil) }
        #expect(limit.admit("a", at: time(10)) == 9)
        #expect(limit.admit("a", at: time(11)) == nil)
        #expect(limit.admit("b", at: time(11)) == 0)
        #expect(limit.admit("a", at: time(60)) == 1)
    }

    @Test func `what is remembered is bounded`() {
        var limit = LogLimit<Int>()
        for subject in 0..<1_000 { #expect(limit.admit(subject, at: time(0)) == 0) }
        #expect(limit.admit(0, at: time(1)) == nil)
        #expect(limit.admit(1_000, at: time(1)) == 0)
        #expect(limit.admit(0, at: time(1)) == 0)
    }
}
