import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0073 — readers read a feed, and know no session", .timeLimit(.minutes(60)))
struct FeedTests {
    /// A session that has ended and that nothing holds any longer, its feed, and a reader that has
    /// accepted none of its events.
    private func end(in rig: Rig) throws -> (feed: Feed, reader: UInt64) {
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .allPulses, .now)
        rig.output.setCapacity(0, of: reader)
        try rig.act(Post.set(1), on: session)
        #expect(session.feed.isAwake)
        _ = rig.end(session)
        rig.endRound()
        rig.output.forgetAnswers()
        return (session.feed, reader)
    }

    @Test func `a feed outlives its session: a slow reader gets what was committed, and the end`()
        throws
    {
        let rig = Rig(registrations: [try .ledger()])
        let (feed, reader) = try end(in: rig)
        #expect(feed.source == nil)
        #expect(!feed.isAwake)
        #expect(rig.lines(reader).isEmpty)
        rig.output.setCapacity(nil, of: reader)
        #expect(rig.lines(reader).count == 2)
        #expect(rig.output.finished == [reader])
    }

    // Its stream was counted when another reader came back, and dropped what it had not got.
    @Test func `a slow reader gets its states and the end although there is no more room`() throws {
        let work = WorkBudget(limit: 1_000_000, clientLimit: 1_000_000)
        let rig = Rig(answers: true, registrations: [try .sized()], work: work)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        let reader = rig.subscribe(session, .allStates, .now, capacity: 0)
        try rig.act(#"{"size":200000}"#, on: session)
        rig.settleAll()
        let stream = try #require(rig.output.subscribers[reader]).stream
        _ = rig.end(session)
        rig.settleAll()
        let rest = try #require(work.charge(1_000_000 - work.used, for: nil))
        stream.account()
        rig.output.setCapacity(nil, of: reader)
        #expect(rig.transcript(reader).events.map(\.name) == ["state", "end"])
        #expect(rig.output.finished == [reader])
        _ = consume rest
    }

    @Test func `nothing after the committed end is framed`() throws {
        let rig = Rig(slow: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(Post.set(1), on: session)
        let feed = session.feed
        #expect(feed.history.newest.number == 1)
        #expect(feed.history.committed.number == 0)
        feed.publish()
        #expect(feed.streams.all.map(\.framedThrough.number) == [0])
        rig.settleAll()
        #expect(feed.streams.all.map(\.framedThrough.number) == [1])
        #expect(rig.lines(reader) == ["a 1 1"])
    }
}
