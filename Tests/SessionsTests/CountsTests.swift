import Feeds
import Sessions
import Storage
import Testing

@Suite("Metrics — the numbers of a table are those of its sessions", .timeLimit(.minutes(60)))
struct CountsTests {
    @Test func `subscribers are counted by their state, with the most bytes that one lacks`() throws
    {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let other = rig.subscribe(session, .allPulses, .now)
        let stalled = rig.subscribe(session, .allPulses, .now, capacity: 200)
        #expect(rig.table.counts.readers.all == 2)
        #expect(rig.table.counts.readers.stalled == 0)
        for a in 1...40 { try rig.act(Post.both(a, -a), on: session) }
        let readers = rig.table.counts.readers
        #expect(readers.stalled == 1)
        let lack = rig.output.bytes(of: other).count - rig.output.bytes(of: stalled).count
        #expect(readers.lagBytes == lack)
        rig.output.setCapacity(nil, of: stalled)
        #expect(rig.table.counts.readers.stalled == 0)
        #expect(rig.table.counts.readers.lagBytes == 0)
        rig.output.disconnect(other)
        #expect(rig.table.counts.readers.all == 1)
        rig.output.disconnect(stalled)
        #expect(rig.table.counts.readers.all == 0)
    }

    @Test func `a subscriber that memory has left behind is counted, and its reset too`() throws {
        let rig = Rig(retention: Retention(records: 3, bytes: 60))
        let session = try rig.create("s", .ledger())
        let stalled = rig.subscribe(session, .allPulses, .now, capacity: 0)
        for a in 1...40 { try rig.act(Post.both(a, -a), on: session) }
        #expect(rig.table.counts.readers.behind == 1)
        #expect(rig.table.counts.resets == [:])
        rig.output.setCapacity(nil, of: stalled)
        #expect(rig.table.counts.readers.behind == 0)
        #expect(rig.table.counts.resets == [.trimmed: 1])
    }

    @Test func `batches are counted by the sessions with decisions in them`() throws {
        let rig = Rig()
        let one = try rig.create("one", .ledger())
        let other = try rig.create("other", .ledger())
        let before = rig.table.counts.batches.sum
        try rig.post(Post.set(1), to: one)
        try rig.post(Post.set(1), to: other)
        rig.table.commit()
        #expect(rig.table.counts.batches.sum == before + 2)
        #expect(rig.table.counts.turns.count > 0)
    }
}
