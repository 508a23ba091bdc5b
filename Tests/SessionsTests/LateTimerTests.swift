import JSONCoding
import Reactors
import Storage
import Synchronization
import Testing

@testable import Sessions

@Suite("A late timer that ends no process fires soon", .timeLimit(.minutes(60)))
struct LateTimerTests {
    private static func rig(after last: Rig? = nil, pause: Int64 = 0) throws -> Rig {
        last?.table.stop()
        let rig = Rig(answers: true, after: last, registrations: [try .of("alarm") { Alarm() }])
        if let last { rig.clock.milliseconds = last.clock.milliseconds + pause }
        return rig
    }

    /// A process whose sessions have timers that are ten seconds late.
    private static func late(_ ids: String...) throws -> Rig {
        let first = try rig()
        for id in ids {
            let session = try first.create(id, .of("alarm") { Alarm() })
            try first.act(Post.alarm("a", after: 10, ring: 7), on: session)
        }
        first.settleAll()
        return try rig(after: first, pause: 10_010)
    }

    private static func due(_ rig: Rig, _ id: String) -> Int64? {
        rig.journal.loaded(id)?.timers.first?.due
    }

    private static func rang(_ rig: Rig, _ id: String = "s") -> Bool {
        rig.journal.kept.contains { $0.kind == .mutation && $0.session == id }
    }

    @Test func `although its commits have failed`() throws {
        let rig = try Self.late("s")
        rig.journal.setImmediate(false)
        for _ in 1...3 {
            _ = try rig.wake("s")
            rig.endRound()
            while rig.journal.pendingCount > 0 { rig.settle() }
            rig.table.fireTimers()
            rig.endRound()
            try #require(rig.journal.pendingCount == 1)
            rig.settle(JournalFailure(reason: .unavailable, detail: "no"))
            #expect(rig.table.awakeCount == 0)
            rig.clock.milliseconds += 1_000
        }
        rig.journal.setImmediate(true)
        _ = try rig.wake("s")
        rig.settleAll()
        rig.table.fireTimers()
        rig.settleAll()
        #expect(Self.rang(rig), "late by \((Self.due(rig, "s") ?? 0) - rig.clock.milliseconds) ms")
    }

    @Test func `although its session has slept before`() throws {
        let rig = try Self.late("s")
        for _ in 1...3 {
            _ = try rig.wake("s")
            for _ in 0..<8 {
                rig.settleAll()
                rig.table.tick()
            }
            try #require(rig.table.awakeCount == 0)
        }
        _ = try rig.wake("s")
        rig.settleAll()
        rig.table.fireTimers()
        rig.settleAll()
        #expect(Self.rang(rig))
    }

    @Test func `although another one ends each process that fires it`() throws {
        var rig = try Self.late("poison", "s")
        for _ in 1...9 {
            for id in ["poison", "s"] { _ = try rig.wake(id) }
            rig.settleAll()
            let dues = [Self.due(rig, "poison"), Self.due(rig, "s")].compactMap(\.self)
            let first = try #require(dues.min())
            rig.clock.milliseconds = max(rig.clock.milliseconds, first)
            let dies = Self.due(rig, "poison").map { $0 <= rig.clock.milliseconds } ?? false
            if !dies {
                rig.table.fireTimers()
                rig.settleAll()
            }
            if Self.rang(rig) { return }
            // The process ends before the commit of this pass, and is started again.
            rig = try Self.rig(after: rig, pause: 2_000)
        }
        Issue.record("the timer of another session has not fired in nine processes")
    }

    @Test func `and is counted in an earlier commit than its action`() throws {
        let rig = try Self.late("s")
        rig.journal.setImmediate(false)
        _ = try rig.wake("s")
        // The same round looks at the timers, before its commit.
        rig.table.fireTimers()
        rig.endRound()
        let first = rig.journal.state.withLock { $0.pending.first?.batch }
        #expect(first?.timers.map { $0.timer?.begun } == [1])
        rig.settleAll()
        rig.table.fireTimers()
        rig.settleAll()
        #expect(Self.rang(rig))
    }

    @Test func `and a number that no program has written ends no process`() async {
        await #expect(processExitsWith: .success) {
            let rig = try Self.late("s")
            rig.journal.edit { kept in
                for index in kept.timers.indices { kept.timers[index].timer?.begun = .max }
            }
            _ = try rig.wake("s")
            rig.settleAll()
        }
    }
}
