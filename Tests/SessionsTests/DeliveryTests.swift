import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0056 — a pass delivers some events, and the next ones the rest", .timeLimit(.minutes(60)))
struct DeliveryTests {
    /// A session with readers of its pulses; each pass makes a few deliveries.
    private func rig(
        readers: Int, beside: Int = 2, alone: Int = 3, waiting: Int = 1_000,
        retention: Retention = Retention(), answers: Bool = false
    ) throws -> (Rig, Session, [UInt64]) {
        var deliveries = DeliveryLimits()
        deliveries.besideAnswers = beside
        deliveries.alone = alone
        deliveries.waiting = waiting
        let rig = Rig(
            answers: answers, registrations: [try .ledger()], retention: retention,
            deliveries: deliveries)
        let session = try rig.create("s", .ledger())
        return (rig, session, (0..<readers).map { _ in rig.subscribe(session, .allPulses, .now) })
    }

    private func reached(_ rig: Rig, _ readers: [UInt64]) -> [Int] {
        readers.map { rig.lines($0).count }
    }

    @Test func `with the answer some readers get the event, the others in the next passes`() throws
    {
        let (rig, session, readers) = try rig(readers: 9)
        let token = try rig.act(Post.set(1), on: session)
        #expect(rig.answer(token) != nil)
        #expect(reached(rig, readers) == [1, 1, 0, 0, 0, 0, 0, 0, 0])
        rig.endRound()
        #expect(reached(rig, readers) == [1, 1, 1, 1, 1, 0, 0, 0, 0])
        // Those that have waited get both events at once, and before those that have got
        // the first one.
        try rig.act(Post.set(2), on: session)
        #expect(reached(rig, readers) == [1, 1, 1, 1, 1, 2, 2, 0, 0])
        rig.endRound()
        #expect(reached(rig, readers) == [2, 1, 1, 1, 1, 2, 2, 2, 2])
        for _ in 0..<2 { rig.endRound() }
        for reader in readers { #expect(rig.lines(reader) == ["a 1 1", "a 2 2"]) }
    }

    @Test func `no more than the limit wait`() throws {
        let (rig, session, readers) = try rig(readers: 20, waiting: 4)
        try rig.act(Post.set(1), on: session)
        #expect(reached(rig, readers).reduce(0, +) == 16)
        rig.endRound()
        rig.endRound()
        #expect(reached(rig, readers).reduce(0, +) == 20)
    }

    @Test func `a stalled reader takes no delivery, and waits for its connection alone`() throws {
        let (rig, session, readers) = try rig(readers: 4, beside: 0, alone: 2)
        for reader in readers.prefix(3) { rig.output.setCapacity(0, of: reader) }
        try rig.act(Post.set(1), on: session)
        rig.endRound()
        #expect(rig.lines(readers[0]) == [] && rig.lines(readers[1]) == [])
        try rig.act(Post.set(2), on: session)
        rig.endRound()
        #expect(rig.lines(readers[3]) == ["a 1 1", "a 2 2"])
        for reader in readers.prefix(3) { rig.output.setCapacity(nil, of: reader) }
        for reader in readers { #expect(rig.lines(reader) == ["a 1 1", "a 2 2"]) }
    }

    @Test func `events are delivered before they are dropped`() throws {
        let (rig, session, readers) = try rig(
            readers: 5, beside: 0, alone: 0, retention: Retention(records: 3, bytes: 60))
        for a in 1...40 { try rig.act(Post.set(a), on: session) }
        rig.deliverAll()
        for reader in readers { #expect(rig.lines(reader) == (1...40).map { "a \($0) \($0)" }) }
    }

    @Test func `events are delivered before the end of the session`() throws {
        let (rig, session, readers) = try rig(readers: 5, beside: 0, alone: 0)
        try rig.act(Post.set(1), on: session)
        _ = rig.end(session)
        rig.endRound()
        for reader in readers { #expect(rig.lines(reader).first == "a 1 1") }
        for reader in readers { #expect(rig.transcript(reader).events.last?.name == "end") }
    }

    @Test func `events are delivered before the reset when history is lost`() throws {
        let (rig, session, readers) = try rig(readers: 5, beside: 0, alone: 0, answers: true)
        try rig.act(Post.set(1), on: session)
        rig.journal.loseHistory(1)
        rig.drainInbox()
        for reader in readers {
            #expect(rig.transcript(reader).events.map(\.name) == ["a", "reset", "snapshot"])
        }
    }

    // They would be read from the journal, without `cause`, or be trimmed there.
    @Test func `events are delivered before a session that has left memory is continued`() throws {
        let (rig, session, readers) = try rig(readers: 3, beside: 0, alone: 0, answers: true)
        try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        rig.journal.setImmediate(false)
        try rig.act(Post.set(2), on: session)
        rig.journal.endNext(.outcomeUnknown, isWritten: true)
        rig.drainInbox()
        #expect(!session.isAwake)
        #expect(reached(rig, readers) == [0, 0, 0])
        _ = try rig.wake("s")
        rig.endRound()
        rig.drainInbox()
        for reader in readers {
            #expect(rig.lines(reader) == ["a 1 1", "a 2 2"])
            let text = String(decoding: rig.output.bytes(of: reader), as: UTF8.self)
            #expect(text.contains("cause: k"))
        }
    }

    @Test func `an owner that is deposed keeps no bytes that its readers have got`() throws {
        let rigs = ClusterRig(2, [try .ledger()])
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs[0].table.limits.deliveries = .least
        let reader = rigs[0].subscribe(session, .allPulses, .now)
        _ = try rigs[0].post(Post.set(1), to: session)
        rigs[0].table.commit()
        rigs[0].drainInbox()
        #expect(rigs[0].lines(reader) == [])
        rigs[0].table.depose(session)
        #expect(rigs[0].lines(reader) == ["a 1 1"])
        let stream = try #require(session.streams.all.first)
        #expect(stream.coveredAfter == stream.framedThrough)
    }

    @Test func `events are delivered before subscribers are disconnected`() throws {
        let (rig, session, readers) = try rig(readers: 5, beside: 0, alone: 0)
        try rig.act(Post.set(1), on: session)
        session.feed.abandonReaders()
        for reader in readers {
            #expect(rig.lines(reader) == ["a 1 1"])
            #expect(rig.output.finished.contains(reader))
        }
    }

    @Test func `a reader that leaves while it waits is not written to`() throws {
        let (rig, session, readers) = try rig(readers: 5, beside: 0, alone: 1)
        try rig.act(Post.set(1), on: session)
        for reader in readers.dropLast() { rig.output.disconnect(reader) }
        rig.endRound()
        #expect(rig.lines(readers[4]) == ["a 1 1"])
        for reader in readers.dropLast() { #expect(rig.lines(reader) == []) }
    }

    @Test func `a session with deliveries to make is not at rest`() throws {
        let (rig, session, readers) = try rig(readers: 5, beside: 0, alone: 0, answers: true)
        try rig.act(Post.set(1), on: session)
        for _ in 0..<12 {
            rig.table.tick()
            rig.endRound()
        }
        #expect(session.isAwake)
        rig.deliverAll()
        for _ in 0..<12 {
            rig.table.tick()
            rig.endRound()
        }
        #expect(!session.isAwake)
        for reader in readers { #expect(rig.lines(reader) == ["a 1 1"]) }
    }
}
