import Testing

@testable import Sockets

@Suite(
    "Deadlines of connections are coarse, and timers of the loop are nearly exact",
    .timeLimit(.minutes(60)))
struct LoopDeadlinesTests {
    private func instant(_ milliseconds: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test(arguments: [0, 1, 7, 66, 1_000, 123_457])
    func `a timer is never early, and due within 9 ms`(time: Int64) throws {
        var deadlines = LoopDeadlines(at: instant(0))
        deadlines.set(token: 7, instant(time))
        let next = try #require(deadlines.next)
        #expect(next > instant(time) && next <= instant(time + 9))
        let before = LoopInstant(nanoseconds: next.nanoseconds - 1)
        #expect(deadlines.dueTokens(at: before) == [])
        let isEarly = deadlines.claim(token: 7, at: before)
        #expect(!isEarly)
        #expect(deadlines.dueTokens(at: next) == [7])
        let isDue = deadlines.claim(token: 7, at: next)
        #expect(isDue)
        #expect(deadlines.next == nil)
    }

    @Test func `a connection's deadline is due within 68 ms, beside timers`() throws {
        var deadlines = LoopDeadlines(at: instant(0))
        deadlines.set(slot: 0, instant(200))
        deadlines.set(token: 1, instant(500))
        let next = try #require(deadlines.next)
        #expect(next > instant(200) && next <= instant(268))
        let due = deadlines.takeDueSlots(9, at: next)
        #expect(due == [0])
        let isDue = deadlines.claim(slot: 0, at: next)
        #expect(isDue)
        let timer = try #require(deadlines.next)
        #expect(timer > instant(500) && timer <= instant(509))
    }

    @Test func `the end of time is no deadline`() {
        var deadlines = LoopDeadlines(at: instant(0))
        deadlines.set(token: 1, LoopInstant(nanoseconds: .max))
        #expect(deadlines.next == nil)
    }
}
