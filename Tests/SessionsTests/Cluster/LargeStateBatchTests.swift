import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("A batch of small actions on a large state", .timeLimit(.minutes(60)))
struct LargeStateBatchTests: FollowedStreams {
    /// Makes states of 8 MB together, in one request.
    private static let batch = Post.all(
        Array(repeating: Post.touch, count: 80).joined(separator: ","))
    private static let large = Post.name(String(repeating: "x", count: 100_000))

    private static var selections: [Selection] {
        get throws { [.allStates, .everything, try .part("/touched"), .allPulses] }
    }

    @Test func `its states are made when they are framed, beyond a few of them`() throws {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let readers = try Self.selections.map { ($0, rigs[0].subscribe(session, $0)) }
        _ = try rigs.post(Self.large, to: session, at: 0)
        rigs.nodes[0].setImmediate(false)
        _ = try rigs[0].act(Self.batch, on: session)
        #expect(session.meters.ahead.bytes <= SharedStream.surplusBytes + 110_000)
        #expect(session.meters.ahead.bytes > SharedStream.surplusBytes)
        rigs.nodes[0].setImmediate(true)
        rigs.settle()
        #expect(session.meters.ahead.bytes == 0)
        check(rigs[0], readers, against: try Truth(rigs.cluster.journal.all, of: session))
        #expect(rigs[0].table.buffers.scratch.capacity <= 65_536)
        deliver(links, rigs)
    }

    // Each stream made all of them at once, and nothing counted their bytes.
    @Test func `a node that follows makes a few megabytes of states at once, for all streams`()
        throws
    {
        let rigs = ClusterRig(2, [try .sized()])
        let links = ScriptedLinks(sendsRecords: true)
        for index in 0..<2 { links.add(rigs.nodes[index].node, rigs[index].table) }
        let session = try rigs[0].create("s", .sized())
        rigs.settle()
        let selections: [Selection] = [
            .allStates, Selection(pulses: 1, states: .whole), try .part("/size"),
            try .part("/text"),
        ]
        let readers = try selections.map { try rigs.stream("s", at: 1, $0) }
        deliver(links, rigs)
        for size in [100_000, 100_001] { try post(#"{"size":\#(size)}"#, session, rigs, links) }
        let streams = try #require(rigs[1].table.asleep(session.id)).streams.all
        let ends = streams.map(\.end)
        let batch = (1...80).map { #"{"size":\#(100_001 + $0)}"# }
        _ = try rigs.post(Post.all(batch.joined(separator: ",")), to: session, at: 0)
        let encoded = CallCounter()
        Sized.State.$encoded.withValue(encoded) { while links.count > 0 { links.deliver(0) } }
        // Those of the pass, and one more of each stream.
        #expect((1...50).contains(encoded.count))
        let framed = zip(streams, ends).reduce(0) { $0 + $1.0.end - $1.1 }
        #expect((1...SharedStream.surplusBytes + 500_000).contains(framed))
        rigs.settle()
        for reader in readers {
            let events = rigs[1].transcript(reader).events
            #expect(events.map(\.name) == ["snapshot"] + Array(repeating: "state", count: 82))
            #expect(events.last?.id == session.position.text)
        }
    }

    @Test(arguments: [nil, 50_000] as [Int?])
    func `its states come to each reader, here and at a node that follows`(capacity: Int?) throws {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let here = try Self.selections.map { ($0, rigs[0].subscribe(session, $0)) }
        let there = try Self.selections.map { ($0, try rigs.stream("s", at: 1, $0)) }
        deliver(links, rigs)
        // The second state is framed with the kept one.
        for body in [Self.large, Post.touch] {
            _ = try rigs.post(body, to: session, at: 0)
            deliver(links, rigs)
        }
        for (rig, readers) in [(rigs[0], here), (rigs[1], there)] {
            for (_, token) in readers { rig.output.setCapacity(capacity, of: token) }
        }
        _ = try rigs.post(Self.batch, to: session, at: 0)
        deliver(links, rigs)
        rigs.look(at: 1)
        for (rig, readers) in [(rigs[0], here), (rigs[1], there)] {
            for (_, token) in readers { rig.output.setCapacity(nil, of: token) }
            rigs.settle()
            check(rig, readers, against: try Truth(rigs.cluster.journal.all, of: session))
        }
        #expect(rigs[1].table.buffers.scratch.capacity <= 65_536)
    }
}
