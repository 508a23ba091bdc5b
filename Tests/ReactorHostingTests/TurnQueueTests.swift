import Sockets
import Testing

@testable import ReactorHosting

@Suite("Connections that wait for a turn on a loop", .timeLimit(.minutes(60)))
struct TurnQueueTests {
    @Test func `connections that have used no bytes have their own queue, each in order`() {
        var queue = TurnQueue<Int>()
        #expect(queue.isEmpty)
        queue.append(1, .heavy)
        queue.append(2, .light)
        queue.append(3, .heavy)
        queue.append(4, .light)
        #expect(queue.count(.light) == 2)
        #expect(queue.count(.heavy) == 2)
        #expect([queue.popFirst(.light), queue.popFirst(.heavy)] == [2, 1])
        queue.append(2, .light)
        #expect((0..<3).map { _ in queue.popFirst(.light) } == [4, 2, nil])
        #expect((0..<2).map { _ in queue.popFirst(.heavy) } == [3, nil])
        #expect(queue.isEmpty)
    }

    private static func connection(_ number: UInt32) -> ConnectionID {
        ConnectionID(slot: number, generation: 1)
    }

    @Test func `many requests of some connections delay those of others by one turn`() {
        let schedule = WorkSchedule()
        for number in 0..<40 as Range<UInt32> {
            schedule.postpone(Self.connection(number), number < 20 ? .heavy : .light)
        }
        // The heavy ones have used up the round.
        for _ in 0..<64 { schedule.countPipelined() }
        #expect(schedule.isRoundUsedUp)
        var served: [UInt32] = []
        schedule.servePostponed { served.append($0.slot) }
        #expect(served == Array(20..<36) + [0])
        schedule.endRound()
        served = []
        // Each turn uses up what it may.
        schedule.servePostponed { id in
            served.append(id.slot)
            if id.slot < 20 { for _ in 0..<64 { schedule.countPipelined() } }
        }
        #expect(served == Array(36..<40) + [1])
        #expect(schedule.postponedCount == 18)
    }

    @Test func `connections that are served again in a round use up its budget`() {
        let schedule = WorkSchedule()
        for number in 0..<100 as Range<UInt32> { schedule.resume(Self.connection(number)) }
        var served: [UInt32] = []
        schedule.serveResumable { served.append($0.slot) }
        #expect(served == Array(0..<64))
        schedule.endRound()
        schedule.serveResumable { served.append($0.slot) }
        #expect(served == Array(0..<100))
    }
}
