import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0077 — the readers of one stream are spread over loops", .timeLimit(.minutes(60)))
struct ReplicaTests {
    /// A rig with a second loop, and a session that many read.
    private func crowd(
        _ count: Int = 8, _ selection: Selection = .allPulses, slow: Bool = false,
        retention: Retention = Retention(), from threshold: Int = 1, subscribers: Int = 32_768
    ) throws -> (rig: Rig, session: Session, readers: [UInt64]) {
        let rig = Rig(
            slow: slow, answers: true, registrations: [try .ledger()], retention: retention,
            subscribers: subscribers, replicasFrom: threshold)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let readers = (0..<count).map { _ in rig.subscribe(session, selection) }
        rig.settleAll()
        return (rig, session, readers)
    }

    private func second(_ rig: Rig) throws -> SecondLoop { try #require(rig.second) }

    /// The reader's subscriber is on the second loop.
    private func isAway(_ reader: UInt64, _ rig: Rig) throws -> Bool {
        let session = try rig.session("s")
        let stream = try #require(rig.output.subscribers[reader]).stream
        return !session.streams.all.contains { $0 === stream }
    }

    private func act(_ body: String, _ rig: Rig) throws {
        try rig.act(body, on: rig.session("s"))
        rig.settleAll()
    }

    private static let selections: [Selection] = [
        .allPulses, .allActivities, .allStates, .everything, .log, .everythingAsPatches,
    ]

    @Test(arguments: selections, [true, false])
    func `all readers get the same bytes, half of them on another loop`(
        selection: Selection, isChunked: Bool
    ) throws {
        var selection = selection
        selection.isChunked = isChunked
        let (rig, session, readers) = try crowd(8, selection)
        // With a state beside which a patch is small.
        rig.table.pass.patchedBytes = 1...4_096
        try act(Post.fill(400), rig)
        for number in 1...20 {
            try act(Post.both(number, -number), rig)
            try act(Post.say("\(number)"), rig)
        }
        #expect(try second(rig).table.feeds.replicas.count == 4)
        #expect(session.streams.all.map(\.localCount) == [4])
        let bytes = Set(readers.map { rig.output.bytes(of: $0) })
        #expect(bytes.count == 1)
        let events = rig.transcript(readers[0]).events
        #expect(events.count >= 20)
        #expect(events.contains { $0.name == "patch" } == selection.asPatches)
    }

    @Test func `readers begin to move at the threshold, and not before`() throws {
        let (rig, session, _) = try crowd(5, from: 6)
        #expect(try second(rig).moves == 0)
        rig.subscribe(session)
        rig.settleAll()
        #expect(try second(rig).moves == 3)
    }

    /// They are the last ones, and more than are examined in a round.
    @Test func `readers that accept nothing hold no others up`() throws {
        let (rig, session, readers) = try crowd(100, from: 171)
        let stalled = (0..<70).map { _ in rig.subscribe(session) }
        rig.settleAll()
        for reader in stalled { rig.output.setCapacity(0, of: reader) }
        try act(Post.set(1), rig)
        #expect(try second(rig).moves == 0)
        rig.subscribe(session)
        rig.settleAll()
        for number in 2...6 { try act(Post.set(number), rig) }
        #expect(try second(rig).moves == 85)
        for reader in stalled { rig.output.setCapacity(nil, of: reader) }
        rig.settleAll()
        #expect(Set((readers + stalled).map { rig.output.bytes(of: $0) }).count == 1)
    }

    @Test func `bytes are sent once for all readers of a loop`() throws {
        let (rig, session, _) = try crowd(8)
        try rig.act(Post.set(1), on: session)
        var messages: [ReplicaMessage] = []
        try rig.act(Post.set(2), on: session)
        // The second round's bytes are taken before the rig sends them.
        let stream = try #require(session.streams.all.first)
        #expect(stream.replica(on: 1)?.readers == 4)
        try rig.post(Post.set(3), to: session)
        rig.table.commit()
        rig.table.feeds.replicas.flush(to: rig.output) { sent, _ in messages += sent }
        #expect(messages.count == 1)
        guard case .run(_, let run, edition: 0)? = messages.first else {
            Issue.record("no events are sent")
            return
        }
        #expect(run.through.number == 3)
        #expect(Transcript(run.bytes).lines == ["a 3 3"])
    }

    @Test func `a reader moves between two events while others come`() throws {
        let (rig, session, readers) = try crowd(2, from: 1)
        var all = readers
        for number in 1...30 {
            try rig.act(Post.both(number, number), on: session)
            all.append(rig.subscribe(session, .allPulses, .now))
            if number % 3 == 0 { rig.drainInbox() }
        }
        rig.settleAll()
        #expect(try second(rig).moves > 10)
        let heard = rig.transcript(all[0]).events
        for reader in all {
            let own = rig.transcript(reader).events.filter { $0.name != "snapshot" }
            #expect(own == heard.suffix(own.count))
        }
    }

    @Test func `an event is sent nowhere before it is committed`() throws {
        let (rig, session, readers) = try crowd(4, slow: true)
        let before = readers.map { rig.output.bytes(of: $0) }
        try rig.post(Post.set(1), to: session)
        rig.endRound()
        rig.drainInbox()
        #expect(readers.map { rig.output.bytes(of: $0) } == before)
        rig.settleAll()
        #expect(readers.allSatisfy { rig.lines($0).last == "a 1 1" })
    }

    // MARK: Readers that leave

    @Test func `the last reader that leaves ends the stream, on whichever loop it is`() throws {
        for isAwayLast in [true, false] {
            let (rig, session, readers) = try crowd(6)
            let (away, here) = (
                try readers.filter { try isAway($0, rig) },
                try readers.filter { try !isAway($0, rig) }
            )
            try #require(away.count == 3)
            for reader in isAwayLast ? here + away : away + here {
                #expect(!session.streams.isEmpty)
                rig.output.disconnect(reader)
                rig.settleAll()
            }
            #expect(session.streams.isEmpty)
            #expect(try second(rig).table.feeds.replicas.count == 0)
            #expect(try second(rig).table.subscriberCount == 0)
            let again = rig.subscribe(session)
            try act(Post.set(7), rig)
            #expect(rig.lines(again).last == "a 1 7")
        }
    }

    @Test func `a reader that leaves on its way is not counted any more`() throws {
        let (rig, session, readers) = try crowd(1)
        let other = rig.subscribe(session)
        rig.endRound()
        try #require(try second(rig).moves == 1)
        for reader in readers + [other] { rig.output.disconnect(reader) }
        #expect(session.streams.subscriberCount == 1, "one is on its way")
        rig.settleAll()
        #expect(session.streams.isEmpty)
        #expect(try second(rig).table.subscriberCount == 0)
    }

    @Test func `the limit counts the readers of all loops`() throws {
        let (rig, session, readers) = try crowd(4, subscribers: 4)
        try #require(try second(rig).table.feeds.replicas.count == 2)
        let surplus = rig.subscribe(session)
        #expect(rig.line(surplus) == "tooManySubscribers 4 v0 n0")
        let away = try #require(try readers.first { try isAway($0, rig) })
        rig.output.disconnect(away)
        rig.settleAll()
        #expect(rig.line(rig.subscribe(session)) == "subscribed v0 n0")
    }

    // MARK: Slow readers

    /// The reader misses what the other loop has dropped.
    @Test(arguments: [true, false])
    func `a slow reader gets what it lacks from the session's loop, or a reset`(isArchived: Bool)
        throws
    {
        let retention = isArchived ? Retention() : Retention(records: 4, bytes: 2_000)
        let rig = Rig(
            keepsRecords: isArchived, answers: isArchived, registrations: [try .ledger()],
            retention: retention, replicasFrom: 1)
        let session = try rig.create("s", .ledger())
        let readers = (0..<6).map { _ in rig.subscribe(session) }
        rig.settleAll()
        let slow = try #require(try readers.first { try isAway($0, rig) })
        let other = try #require(try readers.last { try isAway($0, rig) && $0 != slow })
        rig.output.setCapacity(9, of: slow)
        for number in 1...40 {
            try rig.act(Post.fill(9_000 + number), on: session)
            try act(Post.set(number), rig)
        }
        #expect(rig.output.isStreaming(slow))
        #expect(try second(rig).lags == 0, "it has to get the rest of its event first")
        rig.output.setCapacity(nil, of: slow)
        rig.settleAll()
        #expect(try second(rig).lags == 1)
        try act(Post.set(99), rig)
        #expect(rig.lines(slow).last == rig.lines(other).last)
        let names = rig.transcript(slow).events.map(\.name)
        #expect(names.contains("reset") == !isArchived)
        if isArchived {
            #expect(rig.transcript(slow).events == rig.transcript(other).events)
        } else {
            #expect(names.filter { $0 == "snapshot" }.count == 2)
        }
        #expect(rig.transcript(other).events.count == 82)
    }

    @Test func `a loop that receives nothing has a bounded number of bytes on the way`() throws {
        let (rig, session, readers) = try crowd(4, .allStates)
        let size = 200_000
        for number in 1...30 {
            try rig.post(Post.fill(size + number), to: session)
            rig.table.commit()
            repeat {} while rig.table.deliver()
            rig.second?.collect(from: rig.table)
        }
        // The second loop has received nothing; its replica is like a reader that accepts nothing.
        let stream = try #require(session.streams.all.first)
        #expect(try #require(stream.replica(on: 1)?.subscriber).isBlocked)
        rig.settleAll()
        #expect(try second(rig).lags == 0)
        try act(Post.set(5), rig)
        #expect(Set(readers.map { rig.transcript($0).lastEventID }).count == 1)
        #expect(Set(readers.map { rig.transcript($0).events.last?.data }).count == 1)
    }

    // MARK: The session's life

    @Test func `all readers get the end of the session`() throws {
        let (rig, session, readers) = try crowd(6)
        try act(Post.set(1), rig)
        _ = rig.end(session)
        rig.settleAll()
        for reader in readers {
            #expect(rig.transcript(reader).events.map(\.name) == ["snapshot", "a", "end"])
            #expect(!rig.output.isStreaming(reader))
        }
        #expect(Set(readers.map { rig.output.bytes(of: $0) }).count == 1)
        #expect(rig.table.subscriberCount == 0)
        #expect(try second(rig).table.subscriberCount == 0)
    }

    @Test func `a slow reader gets the end of a session that has ended meanwhile`() throws {
        let (rig, session, readers) = try crowd(6)
        let slow = try #require(try readers.first { try isAway($0, rig) })
        rig.output.setCapacity(5, of: slow)
        try act(Post.set(1), rig)
        _ = rig.end(session)
        rig.settleAll()
        #expect(rig.output.isStreaming(slow))
        rig.output.setCapacity(nil, of: slow)
        rig.settleAll()
        #expect(rig.transcript(slow).events.map(\.name) == ["snapshot", "a", "end"])
        #expect(!rig.output.isStreaming(slow))
    }

    @Test func `a session sleeps and wakes while it is read on another loop`() throws {
        let (rig, _, readers) = try crowd(6)
        for reader in try readers.filter({ try !isAway($0, rig) }) {
            rig.output.disconnect(reader)
        }
        rig.settleAll()
        try act(Post.set(1), rig)
        for _ in 0..<12 {
            rig.table.tick()
            rig.settleAll()
        }
        #expect(rig.table.awakeCount == 0)
        #expect(rig.table.count == 1, "the session is read")
        _ = try rig.wake("s")
        try act(Post.set(2), rig)
        let away = readers.filter { rig.output.isStreaming($0) }
        #expect(away.count == 3)
        for reader in away {
            #expect(rig.transcript(reader).events.map(\.name) == ["snapshot", "a", "a"])
        }
        #expect(try second(rig).lags == 0)
    }

    /// The journal writes a record, and the session hears of it when it is loaded again.
    private func commitUnheard(_ body: String, _ rig: Rig, _ session: Session) throws {
        try rig.post(body, to: session)
        rig.endRound()
        rig.journal.endNext(.outcomeUnknown, isWritten: true)
        rig.drainInbox()
        rig.settleAll()
        _ = try rig.wake("s")
        rig.settleAll()
    }

    @Test func `a gap is filled once for all readers of a loop`() throws {
        let (rig, session, readers) = try crowd(6, slow: true)
        try commitUnheard(Post.set(1), rig, session)
        try act(Post.set(2), rig)
        #expect(try second(rig).lags == 0)
        for reader in readers {
            #expect(rig.transcript(reader).events.map(\.name) == ["snapshot", "a", "a"])
        }
        #expect(try rig.session("s").streams.subscriberCount == 6)
    }

    // The replica was charged to the reader that had moved first, and had no room to read the gap.
    @Test func `a client that has used up its share ends the streams of no others`() throws {
        let (ada, bob) = (WorkClient(subject: "ada"), WorkClient(subject: "bob"))
        let work = WorkBudget(limit: 10_000_000, clientLimit: 200_000)
        let rig = Rig(
            slow: true, answers: true, registrations: [try .ledger()], work: work,
            replicasFrom: 1)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let readers = (0..<6).map { index in
            let token = rig.nextToken()
            // The newest moves first.
            rig.output.clients[token] = index == 5 ? ada : bob
            return rig.subscribe(session, .allActivities, for: token)
        }
        rig.settleAll()
        try #require(try second(rig).moves == 3)
        let used = try #require(work.charge(200_000, for: ada))
        try commitUnheard(Post.say(String(repeating: "x", count: 100_000)), rig, session)
        try act(Post.say("y"), rig)
        #expect(used.size == 200_000)
        for reader in readers {
            #expect(rig.output.isStreaming(reader))
            #expect(rig.transcript(reader).events.count { $0.name == "said" } == 2)
        }
    }

    // The bytes that it had read in the journal counted like a request's bytes, as long
    // as it was kept.
    @Test func `the bytes that a replica keeps give way to those of requests`() throws {
        let work = WorkBudget(limit: 500_000, clientLimit: 500_000)
        let rig = Rig(
            slow: true, answers: true, registrations: [try .ledger()], work: work,
            replicasFrom: 1)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        for _ in 0..<6 { rig.subscribe(session, .allActivities) }
        rig.settleAll()
        try #require(try second(rig).moves == 3)
        try commitUnheard(Post.say(String(repeating: "x", count: 100_000)), rig, session)
        try #require(work.used > 100_000)
        #expect(work.charge(450_000, for: WorkClient(subject: "ada")) != nil)
    }

    @Test func `a lost history is announced on every loop`() throws {
        let (rig, session, readers) = try crowd(6)
        try act(Post.set(1), rig)
        try act(Post.set(2), rig)
        rig.journal.loseHistory(1)
        rig.drainInbox()
        rig.settleAll()
        let next = try rig.session("s")
        try #require(next.generation != session.generation)
        try act(Post.set(3), rig)
        for reader in readers {
            let events = rig.transcript(reader).events
            #expect(events.map(\.name) == ["snapshot", "a", "a", "reset", "snapshot", "a"])
            #expect(events.dropFirst(3).first?.data == #"{"reason":"generation"}"#)
            #expect(rig.output.isStreaming(reader))
        }
        #expect(next.streams.subscriberCount == 6)
    }

    @Test func `the readers of a session that cannot be rebuilt are disconnected everywhere`()
        throws
    {
        let (rig, _, readers) = try crowd(6)
        for _ in 0..<12 {
            rig.table.tick()
            rig.settleAll()
        }
        try #require(rig.table.awakeCount == 0)
        let key = try #require(rig.journal.all.first?.key)
        rig.journal.spoil(key, try #require(Damage.allCases.first))
        _ = try rig.wake("s")
        rig.settleAll()
        #expect(readers.allSatisfy { !rig.output.isStreaming($0) })
        #expect(try second(rig).table.subscriberCount == 0)
        #expect(rig.table.count == 0)
    }

    /// It has a part of an event.
    @Test func `a slow reader of a session that cannot be rebuilt is disconnected`() throws {
        let (rig, session, readers) = try crowd(6, slow: true)
        let slow = try #require(try readers.first { try isAway($0, rig) })
        try rig.post(Post.set(1), to: session)
        rig.endRound()
        rig.settleAll()
        rig.output.setCapacity(3, of: slow)
        try rig.post(Post.set(2), to: session)
        rig.endRound()
        rig.settleAll()
        try commitUnheard(Post.set(3), rig, session)
        #expect(try second(rig).table.subscriberCount > 0)
        for _ in 0..<12 {
            rig.table.tick()
            rig.settleAll()
        }
        try #require(rig.table.awakeCount == 0)
        #expect(rig.output.isStreaming(slow))
        let key = try #require(rig.journal.all.first?.key)
        rig.journal.spoil(key, try #require(Damage.allCases.first))
        _ = try rig.wake("s")
        rig.settleAll()
        #expect(readers.allSatisfy { !rig.output.isStreaming($0) })
        #expect(try second(rig).table.subscriberCount == 0)
    }
}
