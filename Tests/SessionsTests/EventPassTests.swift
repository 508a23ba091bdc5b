import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("Work has a bound — a pass of the loop frames some events", .timeLimit(.minutes(60)))
struct EventPassTests {
    @Test(arguments: [true, false])
    func `events are framed for many selections in bounded passes`(_ answers: Bool) throws {
        let rig = Rig(
            slow: true, answers: answers, registrations: [try .ledger()],
            retention: Retention(bytes: 20_000))
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        // The selections differ only in bits of pulses that the reactor does not have.
        let selections = (0..<64).map { Selection(pulses: 0b111 | UInt64($0) << 32) }
        let readers = selections.map { rig.subscribe(session, $0, .now) }
        rig.runPasses()
        let limit = 100_000
        rig.table.pass.eventLimit = limit
        try rig.post(
            "[\((1...30).map { Post.fill(1_000 + $0) }.joined(separator: ","))]", to: session)
        rig.runPass()
        rig.table.pass.mostEvents = 0
        rig.journal.endNext()
        rig.runPass()
        #expect(session.feed.isFraming)
        #expect(!session.isAtRest)
        let late = rig.subscribe(session, selections[63], .snapshot)
        rig.runPasses()
        #expect(!session.feed.isFraming)
        // A pass may exceed the limit by one record, and frames for at least one stream.
        #expect(rig.table.pass.mostEvents < limit + 70_000)
        for reader in readers {
            #expect(rig.lines(reader).count == 30)
        }
        #expect(rig.lines(late).count == 1)
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        rig.runPasses()
        for reader in readers + [late] { #expect(rig.lines(reader).last == "a 31 1") }
        // The history is trimmed once all streams have framed it.
        let old = rig.subscribe(
            session, selections[0], .after("\(session.generation.text).2"))
        rig.runPasses()
        if !answers {
            #expect(rig.lines(old).first?.hasPrefix("reset") == true)
        }
    }

    @Test(arguments: [true, false])
    func `all feeds together keep little history for streams that lag`(_ answers: Bool) throws {
        let retention = Retention(bytes: 5_000)
        let rig = Rig(
            slow: true, answers: answers, registrations: [try .ledger()], retention: retention)
        let sessions = try ["a", "b"].map { try rig.create($0, .ledger()) }
        rig.settleAll()
        let readers = sessions.map { session in
            (0..<8).map { rig.subscribe(session, Selection(pulses: 0b111 | $0 << 32), .now) }
        }
        rig.runPasses()
        rig.table.pass.eventLimit = 5_000
        // Room for the history of one session.
        rig.table.pass.lagLimit = 100_000
        for session in sessions {
            try rig.post(
                "[\((1...30).map { Post.fill(1_000 + $0) }.joined(separator: ","))]", to: session)
        }
        rig.runPass()
        while rig.journal.pendingCount > 0 { rig.journal.endNext() }
        rig.runPass()
        let lags = sessions.map(\.feed.lag)
        #expect(lags[0] > 25_000)
        #expect(lags[1] == 0)
        for session in sessions { #expect(session.feed.isFraming) }
        #expect(sessions[1].feed.history.excess(over: retention) == 0)
        #expect(rig.table.pass.lagRoom == 100_000 - lags[0])
        while sessions[0].feed.lag > 0 {
            rig.runPass()
            for stream in sessions[0].feed.streams.all {
                #expect(stream.bytes.count < retention.bytes + 2_000)
            }
        }
        rig.runPasses()
        #expect(rig.table.pass.lagRoom == 100_000)
        for reader in readers[0] { #expect(rig.lines(reader).count == 30) }
        for reader in readers[1].dropFirst() {
            // The journal has what memory has dropped.
            if answers {
                #expect(rig.lines(reader).count == 30)
            } else {
                #expect(rig.lines(reader).first?.hasPrefix("reset") == true)
            }
        }
    }

    @Test func `history of a session that leaves memory is no lag`() throws {
        let rig = Rig(
            slow: true, answers: true, registrations: [try .ledger()],
            retention: Retention(bytes: 5_000))
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let readers = (0..<8).map {
            rig.subscribe(session, Selection(pulses: 0b111 | $0 << 32), .now)
        }
        rig.runPasses()
        let room = rig.table.pass.lagRoom
        rig.table.pass.eventLimit = 5_000
        try rig.post(
            "[\((1...30).map { Post.fill(1_000 + $0) }.joined(separator: ","))]", to: session)
        rig.table.commit()
        rig.journal.endNext()
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(rig.table.pass.lagRoom < room)
        try rig.post(Post.set(1), to: session)
        rig.table.commit()
        rig.journal.endNext(.full)
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(!session.isAwake)
        #expect(rig.table.pass.lagRoom == room)
        rig.runPasses()
        // They read the journal.
        for reader in readers { #expect(rig.lines(reader).count == 30) }
    }

    @Test func `readers of states do not fall behind because of events`() throws {
        let rig = Rig(
            slow: true, registrations: [try .ledger()], retention: Retention(bytes: 5_000))
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let states = rig.subscribe(session, .allStates, .now)
        let events = rig.subscribe(session, Selection(pulses: 0b111), .now)
        rig.runPasses()
        rig.table.pass.eventLimit = 1_000
        let batch = "[\((1...8).map { Post.fill(1_000 + $0) }.joined(separator: ","))]"
        try rig.post(batch, to: session)
        rig.table.commit()
        rig.journal.endNext()
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(session.feed.isFraming)
        // Another commit ends before the pass that continues, and has room for everything.
        rig.table.pass.eventLimit = .max
        try rig.post(batch, to: session)
        rig.table.commit()
        rig.journal.endNext()
        for job in rig.inbox.drain().reversed() { job(rig.table) }
        rig.runPasses()
        #expect(rig.lines(states).count == 16)
        #expect(rig.lines(events).count == 16)
    }
}
