// Why one file: the cases share a rig, and together they are the rules of timers.

import JSONCoding
import Reactors
import Storage
import Synchronization
import Testing

@testable import Feeds
@testable import Sessions

@Suite("A timer fires exactly once, and never early", .timeLimit(.minutes(60)))
struct TimerTests {
    private func alarm() throws -> Registration { try .of("alarm") { Alarm() } }

    private func rig(slow: Bool = false, after last: Rig? = nil) throws -> Rig {
        let rig = Rig(slow: slow, answers: true, after: last, registrations: [try alarm()])
        if let last { rig.clock.milliseconds = last.clock.milliseconds }
        return rig
    }

    /// A process with a session `s` that is asleep.
    private func sleepIn(_ rig: Rig) throws {
        for _ in 0..<8 {
            rig.table.tick()
            rig.settleAll()
        }
        try #require(rig.table.awakeCount == 0)
    }

    /// Time passes, and the loop looks at its timers.
    private func pass(_ milliseconds: Int64, _ rig: Rig) {
        rig.clock.milliseconds += milliseconds
        look(rig)
    }

    private func look(_ rig: Rig) {
        rig.table.fireTimers()
        rig.settleAll()
        rig.drainInbox()
        rig.table.fireTimers()
        rig.settleAll()
    }

    /// A search. Each of its pages has one timer.
    private func search(
        _ rig: Rig, finding count: Int = 0, hosting hosted: [Registration]? = nil
    ) async throws {
        let inbox = rig.inbox
        let time = rig.clock.milliseconds
        let hosted = try hosted ?? [alarm()]
        let rules = try #require(WorkSearch(rig.journal, hosted) { _, done in done() })
        let search = TimerSearch(.actions, rules, now: { time }) { found, done in
            if !inbox.put({ $0.expectTimers(found, then: done) }) { done() }
        }
        search.begin()
        // The last page is empty.
        for _ in 0...count {
            await inbox.hasJob()
            rig.drainInbox()
        }
    }

    private func rung(_ rig: Rig, _ id: String = "s") throws -> [Int] {
        let state = rig.state(try rig.session(id))
        return try JSON.decode(Alarm.State.self, from: Array(state.utf8)).rung
    }

    private func notes(_ rig: Rig) -> [String] {
        rig.journal.all.filter { $0.kind == .note || $0.kind == .failure }
            .map { String(decoding: $0.content, as: UTF8.self) }
    }

    /// Why the effect of a request's action has failed.
    private func failure(_ rig: Rig, _ token: UInt64) -> String? {
        guard case .received(let receipt)? = rig.answer(token)?.kind else { return nil }
        return receipt.failures.first?.error
    }

    private func timers(_ rig: Rig, _ id: String = "s") -> [String] {
        rig.journal.loaded(id)?.timers.map(\.name.text) ?? []
    }

    // MARK: Firing

    @Test(arguments: [false, true])
    func `its action is received when it is due, with its key and without a subject`(
        isArchived: Bool
    ) throws {
        let rig = Rig(answers: isArchived, registrations: [try alarm()])
        let session = try rig.create("s", alarm())
        _ = try rig.post(Post.alarm("a", after: 100, ring: 1), to: session, by: "ada")
        rig.endRound()
        #expect(rig.table.timerWait == 100)
        pass(99, rig)
        #expect(try rung(rig) == [])
        pass(1, rig)
        #expect(try rung(rig) == [1])
        pass(1_000_000, rig)
        #expect(try rung(rig) == [1])
        #expect(rig.table.timerWait == nil)
        let due = #""due":"2024-03-01T00:00:00.099Z""#
        let ring = #"{"type":"ring","name":"a","ring":1}"#
        #expect(
            Array(notes(rig).dropFirst()) == [
                #"{"kind":"timer.set","content":{"name":"a","number":1,\#(due)}}"#,
                #"{"kind":"timer.fired","content":{"name":"a","number":1,\#(due)}}"#,
                #"{"kind":"action.received","content":{"received":\#(ring),"key":"timer:a:2"}}"#,
            ])
        #expect(rig.journal.keptBatch.timers.map { $0.timer == nil } == [false, true])
    }

    @Test func `its key is visible ASCII whatever its name is`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm(#"a\u2028\u000b"#, after: 1, ring: 1), on: session)
        try rig.act(Post.alarm(#"a\u2028 %é"#, after: 1, ring: 2), on: session)
        pass(1, rig)
        #expect(try rung(rig) == [2])
        #expect(notes(rig).last?.hasSuffix(#","key":"timer:a%E2%80%A8%20%25%C3%A9:3"}}"#) == true)
    }

    @Test func `two actions of a timer that one action has set twice have different keys`()
        async throws
    {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(#"{"type":"setTwice","name":"a","ring":1}"#, on: session)
        rig.table.fireTimers()
        rig.settleAll()
        await rig.work { session.tasks.isIdle }
        look(rig)
        #expect(try rung(rig) == [1, 8])
        let keys = notes(rig).compactMap { $0.split(separator: #""key":""#).dropFirst().first }
        #expect(keys == [#"timer:a:2"}}"#, #"timer:a:3"}}"#])
    }

    @Test func `a due time that no program has written fires at once`() throws {
        let rig = try rig()
        try rig.act(Post.alarm("a", after: 100_000, ring: 1), on: rig.create("s", alarm()))
        try sleepIn(rig)
        rig.journal.edit { $0.timers[0].timer?.due = .min }
        _ = try rig.wake("s")
        rig.settleAll()
        #expect(rig.table.timerWait == 0)
        look(rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `a timer at a date fires then, and at once if the date is past`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        let now = rig.clock.milliseconds
        try rig.act(Post.alarm("a", at: now + 5, ring: 1), on: session)
        try rig.act(Post.alarm("b", at: 7, ring: 2), on: session)
        pass(0, rig)
        #expect(try rung(rig) == [2])
        pass(5, rig)
        #expect(try rung(rig) == [2, 1])
    }

    @Test func `a timer replaces one of the same name, and a cancelled one does not fire`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        try rig.act(Post.alarm("a", after: 30, ring: 2), on: session)
        try rig.act(Post.alarm("b", after: 10, ring: 7), on: session)
        try rig.act(Post.silence("b"), on: session)
        #expect(timers(rig) == ["a"])
        pass(20, rig)
        #expect(try rung(rig) == [])
        pass(20, rig)
        #expect(try rung(rig) == [2])
        #expect(timers(rig) == [])
        #expect(notes(rig).contains(#"{"kind":"timer.cancelled","content":{"name":"b"}}"#))
    }

    @Test func `a clock that is set back delays it, and one that is set forward fires it`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 60_000, ring: 1), on: session)
        #expect(rig.table.timerWait == 60_000)
        pass(-10_000, rig)
        #expect(rig.table.timerWait == 70_000)
        pass(69_999, rig)
        #expect(try rung(rig) == [])
        pass(3_600_000, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `a clock that is not known exactly makes it late, not early`() throws {
        let rig = try rig()
        rig.journal.state.withLock { $0.clockError = 5 }
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 100, ring: 1), on: session)
        #expect(rig.table.timerWait == 110)
        pass(109, rig)
        #expect(try rung(rig) == [])
        pass(1, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `a timer may set itself again`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        // 4 sets it again, as 5, which is rejected.
        try rig.act(Post.alarm("a", after: 1, ring: 4), on: session)
        pass(1, rig)
        #expect(try rung(rig) == [4])
        #expect(timers(rig) == ["a"])
        pass(100, rig)
        #expect(try rung(rig) == [4])
        #expect(timers(rig) == [])
        #expect(notes(rig).last?.hasPrefix(#"{"kind":"action.rejected""#) == true)
    }

    @Test func `it fires no earlier than the commit before it ends`() throws {
        let rig = Rig(slow: true, registrations: [try alarm()])
        let session = try rig.create("s", alarm())
        rig.settleAll()
        // 4 sets it again, as 5, and so does 11, as 12.
        try rig.act(Post.alarm("a", after: 1, ring: 4), on: session)
        try rig.act(Post.alarm("b", after: 1, ring: 11), on: session)
        rig.settleAll()
        rig.clock.milliseconds += 1
        rig.table.fireTimers()
        rig.endRound()
        #expect(rig.table.timers.firedCount == 2)
        rig.clock.milliseconds += 100
        rig.table.fireTimers()
        #expect(rig.table.timers.firedCount == 2)
        #expect(rig.table.timerWait == nil)
        rig.settle()
        #expect(rig.table.timerWait != nil)
        look(rig)
        #expect(rig.table.timers.firedCount == 4)
        #expect(rig.table.timerWait == nil)
    }

    // MARK: Refusals and bounds

    @Test func `a refused action leaves the timers as they were`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        try rig.act(Post.alarm("b", after: 20, ring: 2), on: session)
        let before = rig.journal.all.count
        let token = try rig.act(#"{"type":"decline","number":7}"#, on: session)
        rig.settleAll()
        guard case .refused(.refused, by: _)? = rig.answer(token)?.kind else {
            Issue.record("not refused")
            return
        }
        #expect(rig.journal.all.count == before)
        #expect(timers(rig) == ["a", "b"])
        pass(30, rig)
        #expect(try rung(rig) == [1, 2])
    }

    @Test func `a refused action of a round takes back no other action's timers`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("b", after: 20, ring: 2), on: session)
        _ = try rig.post(Post.alarm("a", after: 10, ring: 1), to: session)
        _ = try rig.post(#"{"type":"decline","number":7}"#, to: session)
        rig.settleAll()
        #expect(timers(rig) == ["a", "b"])
        #expect(rig.journal.keptBatch.timers.map(\.name) == ["b", "a"])
        pass(30, rig)
        #expect(try rung(rig) == [1, 2])
    }

    @Test func `a refusal of its action is recorded, and the timer is gone`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 10, ring: 3), on: session)
        pass(10, rig)
        #expect(try rung(rig) == [], "its mutation is taken back")
        #expect(timers(rig) == [])
        #expect(notes(rig).last == #"{"place":"effect","error":"late: It is too late."}"#)
    }

    @Test func `an action that the program no longer has is recorded, and the timer is gone`()
        throws
    {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        try sleepIn(rig)
        rig.journal.edit { $0.timers[0].timer?.content = Array(#"{"type":"gone"}"#.utf8) }
        pass(10, rig)
        #expect(try rung(rig) == [])
        #expect(timers(rig) == [])
        #expect(
            notes(rig).last?.contains("the action of the timer a can't be read any more") == true)
    }

    @Test func `beyond 64 timers, and with a large action, the effect fails and nothing is lost`()
        throws
    {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        for number in 1...64 {
            try rig.act(Post.alarm("t\(number)", after: number, ring: 0), on: session)
        }
        let token = try rig.act(Post.alarm("more", after: 1, ring: 0), on: session)
        #expect(failure(rig, token) == "timers")
        #expect(timers(rig).count == 64)
        #expect(!timers(rig).contains("more"))
        rig.table.limits.timerBytes = 40
        let long = String(repeating: "x", count: 30)
        let large = try rig.act(Post.alarm(long, after: 1, ring: 0), on: session)
        #expect(failure(rig, large) == "timerAction")
    }

    @Test func `timers are part of what a turn may make`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        let action = #"{"type":"ring","name":"a","ring":1}"#
        rig.table.limits.turnBytes = 2 * action.utf8.count - 1
        let waver = try rig.act(#"{"type":"waver","name":"a","after":5,"ring":0}"#, on: session)
        #expect(failure(rig, waver) == "timerAction")
        #expect(timers(rig) == [])
        try rig.act(Post.alarm("a", after: 5, ring: 1), on: session)
        try rig.act(Post.alarm("b", after: 5, ring: 2), on: session)
        #expect(timers(rig) == ["a", "b"])
    }

    // MARK: Sleep and restart

    @Test func `a session that sleeps is woken for a timer that is due within a minute`() throws {
        let rig = try rig()
        try rig.act(Post.alarm("a", after: 50_000, ring: 1), on: rig.create("s", alarm()))
        try sleepIn(rig)
        pass(49_999, rig)
        #expect(rig.table.awakeCount == 0)
        pass(1, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `later timers of sleeping sessions use no memory, and the search finds them`()
        async throws
    {
        let rig = try rig()
        try rig.act(Post.alarm("a", after: 3_600_000, ring: 1), on: rig.create("s", alarm()))
        try sleepIn(rig)
        #expect(rig.table.timers.count == 0)
        try await search(rig)
        #expect(rig.table.timers.count == 0)
        rig.clock.milliseconds += 3_600_000 - 30_000
        try await search(rig, finding: 1)
        #expect(rig.table.timerWait == 30_000)
        pass(30_000, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `timers that are overdue after a stop fire once, in order`() async throws {
        let first = try rig()
        for (id, after) in [("u", 30), ("s", 10), ("t", 20)] {
            let session = try first.create(id, alarm())
            try first.act(Post.alarm("a", after: after, ring: 7 * after), on: session)
        }
        try first.act(Post.alarm("b", after: 40, ring: 280), on: first.session("s"))
        first.settleAll()
        first.table.stop()
        first.clock.milliseconds += 1_000_000
        let next = try rig(after: first)
        try await search(next, finding: 4)
        look(next)
        look(next)
        #expect(try rung(next, "s") == [70, 280])
        #expect(try rung(next, "t") == [140])
        #expect(try rung(next, "u") == [210])
        // One commit, session by session.
        let fired = next.journal.all.filter { $0.kind == .mutation && $0.time > 1_709_252_000_000 }
        #expect(fired.map(\.session) == ["s", "s", "t", "u"])
        // Another process finds nothing.
        next.table.stop()
        let last = try rig(after: next)
        try await search(last)
        #expect(last.table.awakeCount == 0)
    }

    @Test func `a late timer that no process survives is postponed, for longer each time`()
        async throws
    {
        var rig = try rig()
        try rig.act(Post.alarm("a", after: 10, ring: 7), on: rig.create("s", alarm()))
        rig.settleAll()
        // A process loads the session for any request, and ends before the timer has fired.
        func end(begun: Int, waits: Int64) async throws {
            rig.table.stop()
            rig = try self.rig(after: rig)
            rig.clock.milliseconds += 10_000
            _ = try rig.wake("s")
            rig.settleAll()
            let timer = try #require(rig.journal.loaded("s")?.timers.first)
            #expect(timer.begun == begun)
            let wait = try #require(rig.table.timerWait)
            #expect((waits...waits * 3 / 2).contains(wait))
        }
        for begun in 1...3 { try await end(begun: begun, waits: 0) }
        try await end(begun: 4, waits: 600_000)
        look(rig)
        #expect(try rung(rig) == [])
        #expect(
            notes(rig).last?.contains(
                "the timer a is postponed by 10 minutes or more: the server ended 3 times")
                == true)
        rig.clock.milliseconds += 900_000
        try await end(begun: 5, waits: 1_200_000)
        pass(1_800_000, rig)
        #expect(try rung(rig) == [7])
        #expect(timers(rig) == [])
    }

    @Test(arguments: [false, true])
    func `a commit that fails restores the timer, which fires once`(isWritten: Bool) throws {
        let rig = try rig(slow: true)
        let session = try rig.create("s", alarm())
        rig.settleAll()
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        try rig.act(Post.alarm("b", after: 500, ring: 2), on: session)
        rig.settleAll()
        rig.clock.milliseconds += 10
        rig.table.fireTimers()
        rig.endRound()
        rig.journal.endNext(.outcomeUnknown, isWritten: isWritten)
        rig.drainInbox()
        rig.endRound()
        #expect(rig.table.awakeCount == 0)
        pass(999, rig)
        #expect(rig.table.awakeCount == 0, "not as fast as the disk fails")
        pass(1, rig)
        // A second late, it is counted first.
        look(rig)
        #expect(try rung(rig) == [1, 2])
        #expect(timers(rig) == [])
    }

    @Test func `a commit that fails without an archive restores the timers too`() throws {
        let rig = Rig(slow: true, registrations: [try alarm()])
        let session = try rig.create("s", alarm())
        rig.settleAll()
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        rig.settleAll()
        try rig.act(Post.alarm("a", after: 99_999, ring: 2), on: session)
        rig.settle(.full)
        pass(1_010, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `an end that fails leaves them set`() throws {
        let rig = Rig(slow: true, registrations: [try alarm()])
        let session = try rig.create("s", alarm())
        rig.settleAll()
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        rig.settleAll()
        _ = rig.end(session)
        rig.endRound()
        rig.clock.milliseconds += 10
        rig.table.fireTimers()
        rig.settle(.full)
        #expect(try rung(rig) == [])
        pass(1_000, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `the search reminds sessions in memory`() async throws {
        let rig = try rig()
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: rig.create("s", alarm()))
        rig.table.timers.removeAll()
        pass(10, rig)
        #expect(try rung(rig) == [])
        try await search(rig, finding: 1)
        look(rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `timers of a session that cannot be read rest until a program can`() async throws {
        let first = try rig()
        try first.act(Post.alarm("a", after: 10, ring: 1), on: first.create("s", alarm()))
        first.table.stop()
        first.clock.milliseconds += 1_000
        let without = Rig(answers: true, after: first)
        without.clock.milliseconds = first.clock.milliseconds
        try await search(without, finding: 1)
        look(without)
        #expect(timers(without) == ["a"])
        #expect(without.table.timerWait == nil)
        #expect(without.table.absent.find(try #require(SessionID("s"))) != nil)
        without.table.stop()
        let next = try rig(after: without)
        try await search(next, finding: 1)
        look(next)
        #expect(try rung(next) == [1])
    }

    // Otherwise each search would load all of them, and fail.
    @Test func `the search loads no session whose reactor is not hosted`() async throws {
        let first = try rig()
        try first.act(Post.alarm("a", after: 10, ring: 1), on: first.create("s", alarm()))
        first.table.stop()
        let without = Rig(answers: true, after: first)
        without.clock.milliseconds = first.clock.milliseconds + 1_000
        try await search(without, finding: 1, hosting: [.ledger()])
        #expect(without.table.absent.find(try #require(SessionID("s"))) == nil)
    }

    @Test func `after a commit that fails, those of other sessions rest for a second too`() throws {
        let rig = Rig(slow: true, registrations: [try alarm()])
        for (id, after) in [("s", 10), ("t", 20)] {
            let post = Post.alarm("a", after: after, ring: after / 10)
            try rig.act(post, on: rig.create(id, alarm()))
            rig.settleAll()
        }
        rig.clock.milliseconds += 10
        rig.table.fireTimers()
        rig.endRound()
        rig.settle(.full)
        rig.clock.milliseconds += 10
        #expect(rig.table.timerWait == 990)
        rig.table.fireTimers()
        rig.endRound()
        #expect(rig.journal.pendingCount == 0)
        pass(990, rig)
        #expect(try rung(rig, "s") == [1])
        #expect(try rung(rig, "t") == [2])
        #expect(rig.table.timerWait == nil)
    }

    @Test func `a commit that succeeds ends the rest`() throws {
        let rig = Rig(slow: true, registrations: [try alarm()])
        for (id, after) in [("s", 10), ("t", 20)] {
            let post = Post.alarm("a", after: after, ring: after / 10)
            try rig.act(post, on: rig.create(id, alarm()))
            rig.settleAll()
        }
        rig.clock.milliseconds += 10
        rig.table.fireTimers()
        rig.endRound()
        rig.settle(.full)
        try rig.act(Post.alarm("b", after: 70_000, ring: 7), on: rig.session("t"))
        rig.settleAll()
        pass(10, rig)
        #expect(try rung(rig, "t") == [2])
        #expect(try rung(rig, "s") == [])
    }

    // MARK: Stubs, deletion and the runtime

    @Test func `timers rest during a stub, and fire when it ends`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        try session.putStub(Array(#"{"enabled":true}"#.utf8), for: rig.nextToken())
        pass(100, rig)
        #expect(timers(rig) == ["a"])
        #expect(rig.table.timerWait == nil)
        try session.putStub(Array(#"{"enabled":false}"#.utf8), for: rig.nextToken())
        pass(0, rig)
        #expect(try rung(rig) == [1])
    }

    @Test func `they end with their session`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 10, ring: 1), on: session)
        _ = rig.end(session)
        rig.settleAll()
        #expect(rig.table.timerWait == nil)
        pass(100, rig)
        #expect(timers(rig) == [])
        #expect(rig.journal.all.last?.kind == .deleted)
    }

    @Test func `overdue timers leave room for new sessions, and those that fired sleep`() throws {
        let rig = Rig(answers: true, registrations: [try alarm()], sessions: 16)
        var found: [DueTimer] = []
        for number in 0..<40 {
            let session = try rig.create("s\(number)", alarm())
            try rig.act(Post.alarm("a", after: 1_000, ring: 1), on: session)
            found.append(DueTimer(id: session.id, due: try #require(session.timers.next)))
            if number % 10 == 9 { try sleepIn(rig) }
        }
        rig.clock.milliseconds += 100_000
        for _ in 0..<40 where rig.table.timers.firedCount < 40 {
            rig.table.expectTimers(found) {}
            rig.settleAll()
            rig.drainInbox()
            look(rig)
            #expect(rig.table.hasRoomForSession)
            rig.table.tick()
            rig.settleAll()
        }
        #expect(rig.table.timers.firedCount == 40)
        rig.table.tick()
        rig.settleAll()
        rig.table.tick()
        #expect(rig.table.awakeCount == 0)
    }

    @Test func `the actions of all timers have a bound together`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: 1_000, ring: 1), on: session)
        let bytes = session.timers.all[0].content.count
        rig.table.limits.timerBytes = 2 * bytes
        try rig.act(Post.alarm("b", after: 1_000, ring: 1), on: session)
        let token = try rig.act(Post.alarm("c", after: 1_000, ring: 1), on: session)
        #expect(failure(rig, token) == "timers")
        try rig.act(Post.alarm("b", after: 2_000, ring: 1), on: session)
        #expect(session.timers.all.map(\.name.text) == ["a", "b"])
    }

    @Test func `the runtime lists them, whether the session is awake or not`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("b", after: 2_000, ring: 2), on: session)
        try rig.act(Post.alarm("a", after: 1_000, ring: 1), on: session)
        let awake = rig.nextToken()
        session.readRuntime(nil, for: awake)
        let name = try #require(SessionID("s"))
        try sleepIn(rig)
        var asleep = ""
        rig.table.inspect(name, for: .anybody) { found in
            guard case .asleep(_, let runtime) = found else { return }
            asleep = String(decoding: runtime.line(hasActions: true), as: UTF8.self)
            let line = String(decoding: runtime.line(hasActions: false), as: UTF8.self)
            #expect(line.contains(#""name":"a","number":2,"#) && !line.contains("action"))
        }
        rig.drainInbox()
        guard case .runtime(let body)? = rig.answer(awake)?.kind else {
            Issue.record("no runtime")
            return
        }
        let ring = #""action":{"type":"ring","name":"#
        let timers =
            #""timers":[{"name":"a","number":2,"due":"2024-03-01T00:00:00.999Z","#
            + ring + #""a","ring":1}},{"name":"b","number":1,"due":"2024-03-01T00:00:01.999Z","#
            + ring + #""b","ring":2}}]}"#
        #expect(String(decoding: body, as: UTF8.self).hasSuffix(timers + "\n"))
        #expect(asleep.hasSuffix(timers + "\n"))
    }

    /// A session with 20 timers, whose actions have 200 KB together.
    private func large(_ work: WorkBudget) throws -> (Rig, Session) {
        let rig = Rig(answers: true, registrations: [try alarm()], work: work)
        let session = try rig.create("s", alarm())
        for number in 1...20 {
            try rig.act(#"{"type":"setLarge","name":"t\#(number)","bytes":10000}"#, on: session)
        }
        return (rig, session)
    }

    @Test func `large timers count while they are loaded, and in a runtime until it is sent`()
        throws
    {
        let work = WorkBudget(limit: 1 << 20, clientLimit: 1 << 20)
        let (rig, session) = try large(work)
        let token = rig.nextToken()
        session.readRuntime(nil, for: token)
        #expect((200_000..<210_000).contains(work.used))
        rig.output.releaseAnswers()
        #expect(work.used == 0)
        let other = work.charge(1_000_000, for: nil)
        let refused = rig.nextToken()
        session.readRuntime(nil, for: refused)
        guard case .overBudget? = rig.answer(refused)?.kind else {
            Issue.record("\(rig.line(refused).prefix(100))")
            return
        }
        _ = consume other
        try sleepIn(rig)
        let saved = try #require(rig.journal.loaded("s"))
        #expect(saved.stateBytes > 200_000)
        _ = try rig.wake("s")
        #expect(rig.table.pass.bytes > 200_000)
    }

    @Test func `the timers of two sleeping sessions are read at a time`() throws {
        let (rig, _) = try large(WorkBudget())
        try sleepIn(rig)
        let name = try #require(SessionID("s"))
        rig.journal.setLate(true)
        var lines: [Int] = []
        for _ in 1...5 {
            rig.table.inspect(name, for: .anybody) { found in
                guard case .asleep(_, let runtime) = found else { return }
                lines.append(runtime.line(hasActions: true).count)
            }
        }
        // The heads.
        for _ in 1...5 { rig.journal.answer(at: 0) }
        rig.drainInbox()
        #expect(rig.journal.askedCount == 2)
        while rig.journal.askedCount > 0 {
            #expect(rig.journal.askedCount <= 2)
            rig.journal.answer(at: 0)
            rig.drainInbox()
        }
        #expect(lines.count == 5 && lines.allSatisfy { $0 > 200_000 })
    }

    @Test func `journals have the bounds of reactors`() {
        #expect(SessionTimer.countLimit == TimerBounds.count)
        #expect(SessionTimer.nameLimit == TimerBounds.nameBytes)
        #expect(SessionTimer.dueLimit == TimerTime.limit)
    }

    @Test func `no delay is longer than the last date`() throws {
        let rig = try rig()
        let session = try rig.create("s", alarm())
        try rig.act(Post.alarm("a", after: .max, ring: 1), on: session)
        #expect(session.timers.next == TimerTime.limit)
    }

    @Test func `a pass has a limit, and the queue forgets what is obsolete`() throws {
        let queue = TimerQueue()
        let ids = try (0..<500).map { try #require(SessionID("s\($0)")) }
        for (number, id) in ids.enumerated().reversed() { queue.set(id, due: Int64(number)) }
        for round in 1...100 { queue.set(ids[499], due: Int64(10_000 - round)) }
        for id in ids[..<10] { queue.remove(id) }
        queue.expect(ids[10], due: 99)
        queue.expect(ids[400], due: -5)
        #expect(queue.next == -5)
        #expect(queue.dequeue(at: 0) == ids[400])
        var taken: [SessionID] = []
        while let id = queue.dequeue(at: 20_000) { taken.append(id) }
        #expect(taken == ids[10...].filter { $0 != ids[400] })
        #expect(queue.count == 0 && queue.next == nil)
    }
}
