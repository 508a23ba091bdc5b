import Cluster
import Clustering
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0052 — readers of a stream share its state", .timeLimit(.minutes(60)))
struct KeptStateTests: FollowedStreams {
    private func lastID(_ rigs: ClusterRig, _ token: UInt64) -> String {
        rigs[1].transcript(token).lastEventID
    }

    /// Posts all bodies, which the second node shows without a read.
    private func checkNoReads(
        _ rigs: ClusterRig, _ links: ScriptedLinks, _ session: Session,
        _ readers: [(Selection, UInt64)]
    ) throws {
        let reads = reads(rigs)
        for body in Self.bodies { try post(body, session, rigs, links) }
        #expect(self.reads(rigs) == reads)
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Its state had no known writer, but replaced the state of the others. So all of them read the
    // journal.
    @Test func `a reader that resumes leaves the others their state`() throws {
        let (rigs, links, session, readers) = try followStates()
        let ids = readers.map { lastID(rigs, $0.1) }
        for body in Self.bodies { try post(body, session, rigs, links) }
        rigs.look(at: 1)
        let late = try zip(readers, ids).map {
            ($0.0, try rigs.stream("s", at: 1, $0.0, .after($1)))
        }
        deliver(links, rigs)
        for ((_, here), (_, late)) in zip(readers, late) {
            #expect(
                rigs[1].lines(here).suffix(rigs[1].lines(late).count) == rigs[1].lines(late)[...])
            #expect(rigs[1].lines(late).count > 1)
        }
        try checkNoReads(rigs, links, session, readers)
        for ((_, here), (_, late)) in zip(readers, late) {
            #expect(
                rigs[1].lines(here).suffix(rigs[1].lines(late).count) == rigs[1].lines(late)[...])
        }
    }

    // It took the state of the others with it, which it does not need.
    @Test func `a slow reader of an event without a mutation leaves the others their state`() throws
    {
        let (rigs, links, session, readers) = try followStates()
        let id = lastID(rigs, readers[1].1)
        try post(Post.say("x"), session, rigs, links)
        rigs.look(at: 1)
        let slow = try rigs.stream("s", at: 1, .everything, .after(id), capacity: 5)
        deliver(links, rigs)
        try checkNoReads(rigs, links, session, readers)
        rigs[1].output.setCapacity(nil, of: slow)
        rigs.settle()
        let lines = rigs[1].lines(slow)
        #expect(rigs[1].lines(readers[1].1).suffix(lines.count) == lines[...])
        #expect(lines.count > Self.bodies.count)
    }

    // It kept the state until its connection accepted bytes again.
    @Test func `a slow reader that has rebuilt the state leaves it to the others`() throws {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let slow = try Self.states.map { ($0, try rigs.stream("s", at: 1, $0)) }
        let readers = try Self.states.map { ($0, try rigs.stream("s", at: 1, $0)) }
        deliver(links, rigs)
        for (_, token) in slow { rigs[1].output.setCapacity(5, of: token) }
        try post(Post.name("first"), session, rigs, links)
        try checkNoReads(rigs, links, session, readers)
        for (_, token) in slow { rigs[1].output.setCapacity(nil, of: token) }
        rigs.settle()
        check(rigs[1], slow, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Each was read in the journal, and the state with it, although no event shows one.
    @Test func `events without a mutation need no state`() throws {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let readers = try Self.states.map { ($0, try rigs.stream("s", at: 1, $0)) }
        deliver(links, rigs)
        let reads = reads(rigs)
        for text in ["x", "y"] {
            _ = try rigs.post(Post.say(text), to: session, at: 0)
            while links.count > 0 { links.deliver(0) }
            #expect(rigs[1].table.background.count == 0, "framed once")
            rigs.settle()
        }
        #expect(self.reads(rigs) == reads)
        _ = try rigs.post(Post.say("lost"), to: session, at: 0)
        links.loseAll()
        try post(Post.say("next"), session, rigs, links)
        #expect(self.reads(rigs) == reads + readers.count)
        for body in Self.bodies { try post(body, session, rigs, links) }
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Events of one program were shown by the state of another one, or the stream ended.
    @Test func `a reader after records of this node compares them, too`() throws {
        let (rigs, links, session) = try growing()
        let token = try rigs.stream("s", at: 1, .allStates)
        deliver(links, rigs)
        rigs[1].output.setCapacity(5, of: token)
        // It has the state after the first of two.
        for _ in 0..<2 { _ = try rigs.post(#"{"add":{"_0":1}}"#, to: session, at: 0) }
        while links.count > 0 { links.deliver(0) }
        rigs.settle()
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        let body = #"{"add":{"centimetres":100}}"#
        // More than the stream keeps.
        for _ in 0..<3 {
            _ = try rigs.post(
                Post.all(Array(repeating: body, count: 1_000).joined(separator: ",")), to: own,
                at: 1)
        }
        rigs[1].output.setCapacity(nil, of: token)
        rigs.settle()
        _ = try rigs.post(body, to: own, at: 1)
        let events = rigs[1].transcript(token).events
        #expect(events.count == 3_004)
        #expect(!events.contains { $0.name == "reset" })
        #expect(events.last?.data == #"{"sum":3003,"unit":"m"}"#)
        #expect(rigs[1].output.isStreaming(token))
    }

    /// A session of an older program; the second node has a newer one.
    private func growing() throws -> (ClusterRig, ScriptedLinks, Session) {
        let rigs = ClusterRig(hosting: [
            [try .of("growing") { OldGrowth() }], [try .of("growing") { NewGrowth() }],
        ])
        let links = ScriptedLinks(sendsRecords: true)
        for index in 0..<2 { links.add(rigs.nodes[index].node, rigs[index].table) }
        let session = try rigs[0].create("s", .of("growing") { OldGrowth() })
        rigs.settle()
        return (rigs, links, session)
    }

    @Test func `after a gap a part that has not changed is not shown again`() throws {
        let (rigs, links, session, readers) = try followStates()
        _ = try rigs.post(Post.touch, to: session, at: 0)
        links.loseAll()
        for body in [Post.touch, Post.name("first"), Post.name("next")] {
            try post(body, session, rigs, links)
        }
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // MARK: When it leaves

    @Test func `without room it is not kept, and with little room that which is used stays`() throws
    {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let readers = try Self.states.map { ($0, try rigs.stream("s", at: 1, $0)) }
        let tally = rigs[1].table.feeds.subscribers
        tally.stateLimit = 0
        deliver(links, rigs)
        try post(Post.name("first"), session, rigs, links)
        #expect(tally.stateBytes == 0)
        tally.stateLimit = .max
        try post(Post.name("first"), session, rigs, links)
        #expect(tally.stateBytes > 0)
        tally.stateLimit = tally.stateBytes + 100
        let reads = reads(rigs)
        for _ in 0..<4 {
            try post(Post.touch, session, rigs, links)
            rigs.look(at: 1)
        }
        #expect(self.reads(rigs) == reads)
        check(rigs[1], readers, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Subscribers that accept no bytes kept it for as long as their connections.
    @Test func `the state of a session that has ended leaves`() throws {
        let (rigs, links, session, readers) = try followStates()
        for (_, token) in readers { rigs[1].output.setCapacity(0, of: token) }
        _ = rigs[0].end(session)
        rigs.settle()
        deliver(links, rigs)
        for _ in 0..<6 { rigs.look(at: 1) }
        #expect(rigs[1].table.clusterCounts.followed.sessions == 0)
        #expect(rigs[1].table.feeds.subscribers.count == readers.count)
        #expect(rigs[1].table.feeds.subscribers.stateBytes == 0)
        for (_, token) in readers { rigs[1].output.setCapacity(nil, of: token) }
        rigs.settle()
        for (_, token) in readers { #expect(names(rigs[1], token).last == "end") }
    }

    @Test func `it is counted as long as it is, however it grows and leaves`() throws {
        let (rigs, links, session, readers) = try followStates()
        let tally = rigs[1].table.feeds.subscribers
        func kept() -> Int {
            let feed = rigs[1].table.asleep(session.id)
            return feed?.streams.all.reduce(0) { sum, stream in
                guard let fold = stream.keptState?.fold else { return sum }
                var state: [UInt8] = []
                feed?.append(fold, to: &state)
                return sum + state.count
            } ?? 0
        }
        for body in [Post.fill(3_000)] + Self.bodies + [Post.fill(10), Post.say("x")] {
            try post(body, session, rigs, links)
            #expect(kept() > 0)
            #expect(tally.stateBytes == kept())
            #expect(rigs[1].table.clusterCounts.followed.stateBytes == kept())
        }
        for (_, token) in readers {
            rigs[1].output.disconnect(token)
            #expect(tally.stateBytes == kept())
        }
        #expect(tally.stateBytes == 0)
    }

    // They may come from any program that has the secret of the cluster.
    @Test(arguments: ["7", #"{"type":"unknown"}"#])
    func `a state is not continued after a record that makes none`(content: String) throws {
        let (rigs, links, session, readers) = try followStates()
        let present = try #require(rigs[1].table.asleep(session.id)?.history.committed)
        let good = #"{"type":"touch"}"#
        var text = ""
        for (offset, content) in [good, content].enumerated() {
            let step = UInt64(offset + 1)
            text +=
                "\(present.number + step) 0 1 \(present.version + step) 1 1 \(content.utf8.count) 0\n"
            text += content + "\n"
        }
        let record = CommittedRecords(
            session.key.generation, after: present.position,
            end: HistoryPosition(present.number + 2), version: present.version + 2,
            text: Array(text.utf8))
        try #require(record.entries(of: session.key, "ledger", after: present)?.count == 2)
        rigs[1].table.receive(session.id, record, from: rigs.nodes[0].node)
        rigs.settle()
        #expect(readers.allSatisfy { !rigs[1].output.isStreaming($0.1) })
        #expect(rigs[1].table.feeds.subscribers.stateBytes == 0)
        _ = links
    }

    // The form of the one says nothing about those of the other.
    @Test func `records of two nodes are not read as those of one`() {
        var received = ReceivedRecords()
        let entries = (1...2).map { (number: UInt64) in
            HistoryEntry(
                session: "s", reactor: "ledger", generation: "g",
                head: HistoryEntry.Head(
                    .mutation, at: HistoryPosition(number), version: number))
        }
        for (entry, writer) in zip(entries, [Writer(number: 1), Writer(number: 2)]) {
            received.append(
                [entry], after: HistoryPosition(entry.number - 1), by: writer, bytes: 1)
            #expect(received.writer == writer)
        }
        func read(after number: UInt64) -> [HistoryEntry]? {
            received.entries(after: HistoryPosition(number), through: 2, limitBytes: .max)
        }
        #expect(read(after: 0) == nil)
        #expect(read(after: 1) == [entries[1]])
    }
}
