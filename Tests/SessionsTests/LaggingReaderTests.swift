import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0077 — a reader that lags on another loop continues as if it were on the session's",
    .timeLimit(.minutes(60)))
struct LaggingReaderTests {
    private struct Crowd {
        let rig: Rig
        let session: Session
        let readers: [UInt64]
        /// One of those on the other loop.
        let slow: UInt64
        let second: SecondLoop
    }

    private func crowd(
        isArchived: Bool = true, slow: Bool = false, subscribers: Int = 32_768,
        retention: Retention = Retention()
    ) throws -> Crowd {
        let rig = Rig(
            slow: slow, keepsRecords: isArchived, answers: isArchived,
            registrations: [try .ledger()], retention: retention, subscribers: subscribers,
            replicasFrom: 1)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let readers = (0..<6).map { _ in rig.subscribe(session) }
        rig.settleAll()
        let second = try #require(rig.second)
        let away = readers.first { reader in
            let stream = rig.output.subscribers[reader]?.stream
            return !session.streams.all.contains { $0 === stream }
        }
        return Crowd(
            rig: rig, session: session, readers: readers, slow: try #require(away), second: second)
    }

    /// The slow reader stops in the middle of an event, and the other loop drops the next ones.
    private func stall(_ crowd: Crowd) throws {
        crowd.rig.output.setCapacity(9, of: crowd.slow)
        for number in 1...40 {
            try crowd.rig.act(Post.fill(9_000 + number), on: crowd.session)
            try crowd.rig.act(Post.set(number), on: crowd.session)
            crowd.rig.settleAll()
        }
        try #require(crowd.second.lags == 0)
    }

    /// The slow reader asks for what it lacks, and the session's loop has not heard of it.
    private func resume(_ crowd: Crowd) throws {
        crowd.rig.output.setCapacity(nil, of: crowd.slow)
        try #require(crowd.second.lags == 1)
    }

    private func check(_ crowd: Crowd, of reader: UInt64) throws {
        let other = try #require(crowd.readers.first { $0 != crowd.slow })
        let (own, all) = (crowd.rig.transcript(reader).events, crowd.rig.transcript(other).events)
        #expect(own.map(\.name) == all.map(\.name))
        // The data are long.
        let isSame = own == all
        #expect(isSame)
    }

    // MARK: The end

    // Its connection ended without an `end`, or the reader got a `reset` instead of its events.
    @Test(arguments: [true, false], [true, false])
    func `it gets its last events and the end of a session that was deleted meanwhile`(
        isOnItsWay: Bool, isArchived: Bool
    ) throws {
        let crowd = try crowd(isArchived: isArchived)
        try stall(crowd)
        if isOnItsWay { try resume(crowd) }
        _ = crowd.rig.end(crowd.session)
        crowd.rig.endRound()
        crowd.rig.settleAll()
        if !isOnItsWay { try resume(crowd) }
        crowd.rig.settleAll()
        let events = crowd.rig.transcript(crowd.slow).events
        #expect(events.last?.name == "end" && events.last?.data == #"{"reason":"deleted"}"#)
        try check(crowd, of: crowd.slow)
        #expect(!crowd.rig.output.isStreaming(crowd.slow))
        #expect(crowd.rig.table.subscriberCount == 0)
        #expect(crowd.second.table.subscriberCount == 0)
        #expect(crowd.rig.table.count == 0)
    }

    // Without the stream there would be nothing to end.
    @Test func `it gets the end although the session was created anew`() throws {
        let crowd = try crowd()
        try stall(crowd)
        _ = crowd.rig.end(crowd.session)
        crowd.rig.endRound()
        crowd.rig.settleAll()
        let next = try crowd.rig.create("s", .ledger())
        crowd.rig.settleAll()
        try resume(crowd)
        crowd.rig.settleAll()
        try check(crowd, of: crowd.slow)
        #expect(crowd.rig.transcript(crowd.slow).events.last?.name == "end")
        #expect(next.streams.isEmpty)
    }

    @Test func `events that are gone with the session are replaced by a reset before the end`()
        throws
    {
        let crowd = try crowd(retention: Retention(records: 4, bytes: 2_000))
        try stall(crowd)
        _ = crowd.rig.end(crowd.session)
        crowd.rig.endRound()
        crowd.rig.settleAll()
        try resume(crowd)
        crowd.rig.settleAll()
        let events = crowd.rig.transcript(crowd.slow).events
        #expect(events.suffix(2).map(\.name) == ["reset", "end"])
        #expect(events.suffix(2).first?.data == #"{"reason":"trimmed"}"#)
        #expect(!crowd.rig.output.isStreaming(crowd.slow))
    }

    @Test func `it gets the events of a gap, and the end after it`() throws {
        let crowd = try crowd(slow: true)
        crowd.rig.output.setCapacity(3, of: crowd.slow)
        // The journal writes a record, and the session hears of it when it is loaded again.
        for number in 1...2 {
            try crowd.rig.post(Post.set(number), to: crowd.rig.session("s"))
            crowd.rig.endRound()
            if number == 1 { crowd.rig.settleAll() }
        }
        crowd.rig.journal.endNext(.outcomeUnknown, isWritten: true)
        crowd.rig.drainInbox()
        crowd.rig.settleAll()
        _ = try crowd.rig.wake("s")
        crowd.rig.settleAll()
        _ = try crowd.rig.end(crowd.rig.session("s"))
        crowd.rig.endRound()
        crowd.rig.settleAll()
        crowd.rig.output.setCapacity(nil, of: crowd.slow)
        crowd.rig.settleAll()
        #expect(
            crowd.rig.transcript(crowd.slow).events.map(\.name) == [
                "snapshot", "a", "a", "end",
            ])
        #expect(!crowd.rig.output.isStreaming(crowd.slow))
        #expect(crowd.rig.table.count == 0)
    }

    // MARK: Many of them

    // Each had the states of a whole stream encoded for itself, at once.
    @Test(arguments: [true, false])
    func `many that ask at once make no more work than a pass has room for`(
        isArchived: Bool
    ) throws {
        // The session's loop has dropped the first ones, too.
        let (size, count) = (300_000, 24)
        let rig = Rig(
            keepsRecords: isArchived, answers: isArchived, registrations: [try .sized()],
            replicasFrom: 1)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        let all = (0..<16).map { _ in rig.subscribe(session, .allStates) }
        rig.settleAll()
        let second = try #require(rig.second)
        let readers = all.filter {
            rig.output.subscribers[$0]?.stream !== session.streams.all[0]
        }
        try #require(readers.count == 8)
        for reader in all where !readers.contains(reader) { rig.output.disconnect(reader) }
        for reader in readers { rig.output.setCapacity(9, of: reader) }
        for number in 0..<count {
            try rig.act(#"{"size":\#(size + number)}"#, on: session)
            rig.settleAll()
        }
        for reader in readers { rig.output.setCapacity(nil, of: reader) }
        try #require(second.lags == 8)
        rig.endRound()
        second.deliverFirst(to: rig.table)
        let pass = rig.table.feeds.pass
        #expect(pass.bytes < pass.limitBytes + 6 * size)
        rig.drainInbox()
        rig.settleAll()
        for reader in readers {
            let names = rig.transcript(reader).events.map(\.name)
            #expect(rig.transcript(reader).lastEventID == session.position.text)
            #expect(names.contains("reset") == !isArchived)
            if isArchived { #expect(names.count == count + 1) }
        }
    }

    // MARK: The count

    // It was counted on both loops until the other one had reported that it has left.
    @Test func `it is counted once, before and after it has arrived`() throws {
        let crowd = try crowd(subscribers: 7)
        try stall(crowd)
        #expect(crowd.session.streams.subscriberCount == 6)
        try resume(crowd)
        #expect(crowd.session.streams.subscriberCount == 6)
        crowd.second.deliverFirst(to: crowd.rig.table)
        #expect(crowd.session.streams.subscriberCount == 6)
        #expect(crowd.rig.line(crowd.rig.subscribe(crowd.session)).hasPrefix("subscribed"))
        crowd.rig.settleAll()
        #expect(crowd.session.streams.subscriberCount == 7)
        #expect(
            crowd.rig.line(crowd.rig.subscribe(crowd.session)).hasPrefix("tooManySubscribers 7"))
        for reader in crowd.readers { crowd.rig.output.disconnect(reader) }
        crowd.rig.settleAll()
        #expect(crowd.session.streams.subscriberCount == 1)
    }

    @Test func `one that leaves on its way is counted until it has arrived`() throws {
        let crowd = try crowd()
        try stall(crowd)
        try resume(crowd)
        for reader in crowd.readers { crowd.rig.output.disconnect(reader) }
        #expect(crowd.session.streams.subscriberCount == 3, "those of the other loop")
        crowd.rig.settleAll()
        #expect(crowd.session.streams.isEmpty)
        #expect(crowd.second.table.feeds.replicas.count == 0)
        #expect(crowd.rig.table.subscriberCount == 0)
    }

    // They did not count for the next generation until they had arrived, so the limit admitted
    // others in their place.
    @Test func `it is counted while it comes back to another generation`() throws {
        let crowd = try crowd()
        try crowd.rig.act(Post.set(1), on: crowd.session)
        crowd.rig.settleAll()
        crowd.rig.output.holdBack(":\n", of: crowd.slow)
        crowd.rig.journal.loseHistory(1)
        crowd.rig.drainInbox()
        crowd.rig.settleAll()
        let next = try crowd.rig.session("s")
        try #require(next.generation != crowd.session.generation)
        #expect(next.streams.subscriberCount == 6)
        crowd.rig.output.setCapacity(nil, of: crowd.slow)
        #expect(next.streams.subscriberCount == 6)
        crowd.rig.settleAll()
        #expect(next.streams.subscriberCount == 6)
        let events = crowd.rig.transcript(crowd.slow).events
        #expect(events.map(\.name) == ["snapshot", "a", "reset", "snapshot"])
    }

    /// It has a part of a record, or of an event, when history is lost.
    @Test(arguments: 0...100)
    func `it gets the rest of its event, and one reset of the next generation`(
        capacity: Int
    ) throws {
        let crowd = try crowd()
        crowd.rig.output.setCapacity(capacity, of: crowd.slow)
        try crowd.rig.act(Post.both(1, 2), on: crowd.session)
        crowd.rig.settleAll()
        lose(1, crowd)
        crowd.rig.output.setCapacity(nil, of: crowd.slow)
        crowd.rig.settleAll()
        try checkReset(crowd)
    }

    @Test func `on its way when history is lost, it gets one reset of the next generation`() throws
    {
        let crowd = try crowd()
        try stall(crowd)
        try resume(crowd)
        lose(1, crowd)
        try checkReset(crowd)
    }

    // It counted as a reader that has the first event of the next generation, and got no reset.
    @Test func `it gets a reset of the next generation that the replica has dropped`() throws {
        let crowd = try crowd(retention: Retention(bytes: 2_000))
        try crowd.rig.act(Post.set(1), on: crowd.session)
        crowd.rig.settleAll()
        crowd.rig.output.holdBack(":\n", of: crowd.slow)
        lose(1, crowd)
        for number in 1...100 {
            try crowd.rig.act(Post.set(number), on: crowd.rig.session("s"))
            crowd.rig.settleAll()
        }
        crowd.rig.output.setCapacity(nil, of: crowd.slow)
        try #require(crowd.second.lags == 1)
        crowd.rig.settleAll()
        try checkReset(crowd)
    }

    private func lose(_ count: Int, _ crowd: Crowd) {
        crowd.rig.journal.loseHistory(count)
        crowd.rig.drainInbox()
        crowd.rig.settleAll()
    }

    private func checkReset(_ crowd: Crowd) throws {
        let next = try crowd.rig.session("s")
        try #require(next.generation != crowd.session.generation)
        let events = crowd.rig.transcript(crowd.slow).events
        #expect(events.suffix(2).map(\.name) == ["reset", "snapshot"])
        #expect(events.last?.id == next.position.text)
        #expect(events.count { $0.name == "reset" } == 1)
        #expect(crowd.rig.output.isStreaming(crowd.slow))
    }

    // MARK: A session that sleeps

    @Test func `a session that is asleep is loaded for it`() throws {
        let crowd = try crowd()
        try stall(crowd)
        for _ in 0..<12 {
            crowd.rig.table.tick()
            crowd.rig.settleAll()
        }
        try #require(crowd.rig.table.awakeCount == 0)
        try resume(crowd)
        crowd.rig.settleAll()
        #expect(crowd.rig.table.awakeCount == 1)
        try check(crowd, of: crowd.slow)
        #expect(crowd.rig.output.isStreaming(crowd.slow))
        try crowd.rig.act(Post.set(99), on: crowd.rig.session("s"))
        crowd.rig.settleAll()
        try check(crowd, of: crowd.slow)
    }

    // The load found the next generation, and its connection ended after the reset.
    @Test func `it gets a reset if history is lost while the session is loaded for it`() throws {
        let crowd = try crowd()
        try stall(crowd)
        for _ in 0..<12 {
            crowd.rig.table.tick()
            crowd.rig.settleAll()
        }
        try #require(crowd.rig.table.awakeCount == 0)
        try resume(crowd)
        crowd.rig.journal.loseHistory(1)
        crowd.second.deliverFirst(to: crowd.rig.table)
        crowd.rig.drainInbox()
        crowd.rig.settleAll()
        try checkReset(crowd)
    }

    @Test func `its connection ends if the session cannot be loaded`() throws {
        let crowd = try crowd()
        try stall(crowd)
        for _ in 0..<12 {
            crowd.rig.table.tick()
            crowd.rig.settleAll()
        }
        let key = try #require(crowd.rig.journal.all.first?.key)
        crowd.rig.journal.spoil(key, try #require(Damage.allCases.first))
        try resume(crowd)
        crowd.rig.settleAll()
        #expect(!crowd.rig.output.isStreaming(crowd.slow))
        #expect(crowd.second.table.subscriberCount == 0)
        #expect(crowd.rig.table.count == 0)
    }
}
