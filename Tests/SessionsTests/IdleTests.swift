@testable import Feeds
@testable import Sessions
import TestStreams
import Testing

@Suite(
    "A loop tracks its sessions without visiting all of them", .timeLimit(.minutes(60)))
struct IdleTests {
    private func tick(_ rig: Rig, _ count: Int) {
        for _ in 0..<count {
            rig.table.tick()
            rig.settleAll()
        }
    }

    @Test func `sessions that fall asleep, wake and end are counted`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let one = try rig.create("a", .ledger())
        _ = try rig.create("b", .ledger())
        rig.settleAll()
        #expect(rig.table.awakeCount == 2)
        let reader = rig.subscribe(one)
        #expect(rig.table.subscriberCount == 1)
        tick(rig, 8)
        // The session that is read stays in the table, asleep.
        #expect(rig.table.awakeCount == 0)
        #expect(rig.table.count == 1)
        #expect(rig.table.subscriberCount == 1)
        _ = try rig.wake("a")
        _ = try rig.wake("b")
        rig.settleAll()
        #expect(rig.table.awakeCount == 2)
        rig.output.disconnect(reader)
        #expect(rig.table.subscriberCount == 0)
        let again = rig.subscribe(try rig.session("b"))
        #expect(rig.line(again) != "-")
        #expect(rig.table.subscriberCount == 1)
        _ = rig.end(try rig.session("b"))
        rig.settleAll()
        #expect(rig.table.awakeCount == 1)
        #expect(rig.table.subscriberCount == 0)
    }

    @Test func `a creation that fails is not counted`() throws {
        let rig = Rig(slow: true)
        try rig.create("s", .ledger())
        #expect(rig.table.awakeCount == 1)
        rig.settle(.full)
        #expect(rig.table.awakeCount == 0)
    }

    @Test func `a session that is used stays awake for four more ticks`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        try rig.create("s", .ledger())
        rig.settleAll()
        for number in 1...4 {
            tick(rig, 3)
            try #require(rig.table.awakeCount == 1)
            try rig.act(Post.set(number), on: rig.session("s"))
            rig.settleAll()
        }
        // The snapshot needs one more tick.
        tick(rig, 5)
        #expect(rig.table.awakeCount == 0)
    }

    @Test func `a busy session is examined again later`() throws {
        let rig = Rig(slow: true, answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        // Its commit is pending while it is idle.
        try rig.act(Post.set(1), on: session)
        for _ in 1...6 { rig.table.tick() }
        #expect(rig.table.awakeCount == 1)
        rig.settleAll()
        tick(rig, 3)
        #expect(rig.table.awakeCount == 0)
    }

    @Test func `a tick examines only the sessions used four ticks ago`() throws {
        var idle = IdleSessions()
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let sessions = try (0..<6).map { try rig.create("s\($0)", .ledger()) }
        rig.settleAll()
        for session in sessions { rig.table.eviction.idle.remove(session) }
        for (tick, session) in sessions.enumerated() { idle.put(session, at: UInt64(tick)) }
        // Used again: it moves to another list.
        idle.put(sessions[0], at: 5)
        #expect(idle.dequeue(through: 1) === sessions[1])
        #expect(idle.dequeue(through: 1) == nil)
        idle.remove(sessions[2])
        #expect(idle.dequeue(through: 2) == nil)
        // Its list is gone: the oldest remaining list takes it.
        idle.put(sessions[2], at: 0)
        #expect(idle.dequeue(through: 3) === sessions[2])
        #expect(idle.dequeue(through: 3) === sessions[3])
        #expect(idle.dequeue(through: 4) === sessions[4])
        #expect(
            [idle.dequeue(through: 9), idle.dequeue(through: 9)].map { $0?.id.text } == [
                "s0", "s5",
            ])
        #expect(idle.dequeue(through: 9) == nil)
        var start = IdleSessions.Place(tick: 0, index: 0)
        #expect(idle.next(&start) == nil)
    }

    @Test func `sessions whose sources must be restarted wake 16 at a time`() throws {
        let rig = Rig(slow: true, answers: true, registrations: [try .listening()])
        let sessions = try (0..<150).map { try rig.create("s\($0)", .listening()) }
        rig.settleAll()
        rig.journal.setUnreadable(.unavailable)
        for session in sessions { _ = try rig.post(Cashier.add(1), to: session) }
        rig.endRound()
        rig.settle(.full)
        #expect(rig.table.awakeCount == 0)
        rig.journal.setUnreadable(nil)
        rig.journal.setLate(true)
        rig.table.tick()
        var most = 0
        while rig.journal.askedCount > 0 {
            most = max(most, rig.journal.askedCount)
            rig.journal.answer(at: 0)
            rig.drainInbox()
        }
        #expect(most == 16)
        #expect(rig.table.awakeCount == 150)
    }
}

extension Registration {
    /// Each session listens to its own stream.
    fileprivate static func listening() throws -> Registration {
        try Registration(
            name: "cashier", activities: ["said"], examples: [],
            makeCycler: { Cashier(gate: Gate(), stream: AsyncStream.makeStream().stream) })
    }
}
