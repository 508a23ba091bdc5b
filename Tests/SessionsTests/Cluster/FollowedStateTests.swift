import Cluster
import Clustering
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0052 — a node that follows a session keeps its state", .timeLimit(.minutes(60)))
struct FollowedStateTests: FollowedStreams {
    private func bytes(_ rigs: ClusterRig, at index: Int = 1) -> Int {
        rigs[index].table.feeds.subscribers.stateBytes
    }

    // Each event was a read of the newest snapshot, and of all records after it.
    @Test func `states come without a read, framed once`() throws {
        let (rigs, links, session, readers) = try followStates()
        let there = readers.map { rigs[0].subscribe(session, $0.0) }
        let known = readers.map { rigs[1].lines($0.1).count }
        let reads = reads(rigs)
        for body in Self.bodies {
            _ = try rigs.post(body, to: session, at: 0)
            while links.count > 0 { links.deliver(0) }
            #expect(rigs[1].table.background.count == 0)
            rigs[1].drainInbox()
            for (index, (here, there)) in zip(readers, there).enumerated() {
                #expect(
                    rigs[1].lines(here.1).dropFirst(known[index])
                        == rigs[0].lines(there).dropFirst(1))
            }
        }
        #expect(self.reads(rigs) == reads)
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    @Test func `after a gap the state continues without being rebuilt`() throws {
        let (rigs, links, session, readers) = try followStates()
        _ = try rigs.post(Post.name("lost"), to: session, at: 0)
        links.loseAll()
        let reads = reads(rigs)
        try post(Post.name("next"), session, rigs, links)
        // Of each stream the records, and whether they have the form of the state.
        #expect(self.reads(rigs) == reads + 2 * readers.count)
        for body in Self.bodies { try post(body, session, rigs, links) }
        #expect(self.reads(rigs) == reads + 2 * readers.count)
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Its program may be another one.
    @Test func `records of another owner are compared with the journal once`() throws {
        let (rigs, links, session, readers) = try followStates(3)
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        for _ in 0..<4 { rigs.look(at: 2) }
        deliver(links, rigs)
        let reads = reads(rigs, at: 2)
        try post(Post.name("next"), next, at: 1, rigs, links)
        #expect(self.reads(rigs, at: 2) == reads + readers.count)
        for body in Self.bodies { try post(body, next, at: 1, rigs, links) }
        #expect(self.reads(rigs, at: 2) == reads + readers.count)
        check(rigs[2], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // The first reader got a `reset`: the state that was kept has the form of the program before.
    @Test func `records of another form are shown with the state of that form`() throws {
        let rigs = ClusterRig(hosting: [
            [try .of("growing") { OldGrowth() }], [try .of("growing") { NewGrowth() }],
            [try .of("growing") { NewGrowth() }],
        ])
        let links = ScriptedLinks(sendsRecords: true)
        for index in 0..<3 { links.add(rigs.nodes[index].node, rigs[index].table) }
        let session = try rigs[0].create("s", .of("growing") { OldGrowth() })
        rigs.settle()
        let token = try rigs.stream("s", at: 2, .allStates)
        deliver(links, rigs)
        for _ in 0..<3 { try post(#"{"add":{"_0":1}}"#, session, rigs, links) }
        #expect(bytes(rigs, at: 2) > 0)
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        for _ in 0..<4 { rigs.look(at: 2) }
        deliver(links, rigs)
        for _ in 0..<3 {
            try post(#"{"add":{"centimetres":300}}"#, next, at: 1, rigs, links)
        }
        let states = rigs[2].transcript(token).events
        let present = rigs[1].subscribe(next, .allStates)
        #expect(states.last?.data == rigs[1].transcript(present).events.last?.data)
        #expect(states.filter { $0.name == "reset" }.count == 0)
    }

    // MARK: When it leaves

    @Test func `it leaves when this node owns the session`() throws {
        let (rigs, links, session, readers) = try followStates()
        #expect(bytes(rigs) > 0)
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        #expect(bytes(rigs) == 0)
        for body in Self.bodies { try post(body, own, at: 1, rigs, links) }
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    @Test func `it leaves with its readers, and with its generation`() throws {
        let (rigs, links, session, readers) = try followStates()
        let all = bytes(rigs)
        rigs[1].output.disconnect(readers[0].1)
        rigs.settle()
        #expect(bytes(rigs) < all)
        _ = rigs[0].end(session)
        rigs.settle()
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.look(at: 1)
        deliver(links, rigs)
        #expect(bytes(rigs) == 0)
    }

    @Test func `states beyond the bound of the loop are not kept, and make room`() throws {
        let (rigs, links, session, readers) = try followStates()
        let limit = 2_500
        rigs[1].table.feeds.subscribers.stateLimit = limit
        let large = String(repeating: "x", count: 1_000)
        for number in 1...3 { try post(Post.name(large + "\(number)"), session, rigs, links) }
        #expect((limit / 2...limit).contains(bytes(rigs)))
        for body in Self.bodies { try post(body, session, rigs, links) }
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
        try post(Post.name(large), session, rigs, links)
        #expect((limit / 2...limit).contains(bytes(rigs)))
        for _ in 0..<2 { rigs.look(at: 1) }
        #expect(bytes(rigs) == 0)
        try post(Post.name("small"), session, rigs, links)
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // They may come from any program that has the secret of the cluster.
    @Test func `a record that makes no state ends its readers alone`() throws {
        let (rigs, links, session, readers) = try followStates()
        let other = try rigs.stream("s", at: 1, .allActivities)
        deliver(links, rigs)
        let end = rigs[1].table.asleep(session.id)?.history.committed
        let present = try #require(end)
        let text = "\(present.number + 1) 0 1 \(present.version + 1) 1 1 1 0\n7\n"
        let record = CommittedRecords(
            session.key.generation, after: present.position,
            end: HistoryPosition(present.number + 1), version: present.version + 1,
            text: Array(text.utf8))
        #expect(record.entries(of: session.key, "ledger", after: present) != nil)
        rigs[1].table.receive(session.id, record, from: rigs.nodes[0].node)
        rigs.settle()
        #expect(readers.allSatisfy { !rigs[1].output.isStreaming($0.1) })
        #expect(rigs[1].output.isStreaming(other))
        #expect(bytes(rigs) == 0)
    }
}
