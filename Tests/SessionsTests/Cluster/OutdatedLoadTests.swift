import Cluster
import Storage
import Testing

@testable import Clustering
@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0051 — what was read of a session before its newest records is read once more",
    .timeLimit(.minutes(60)))
struct OutdatedLoadTests: FollowedStreams {
    /// Everything that a node has read so far arrives after another event of the owner, and after
    /// the report of it.
    private func readLate(
        _ rigs: ClusterRig, _ links: ScriptedLinks, after number: Int, of session: Session
    ) throws {
        let node = rigs.nodes[1]
        let reads = node.waiting(.read)
        for index in 0..<node.waitingCount { node.carryOut(index) }
        _ = try rigs[0].act(Post.set(number), on: session)
        rigs.run()
        while links.count > 0 { links.deliver(0) }
        rigs.run()
        node.settle(sparing: .read)
        rigs.run()
        for _ in 0..<reads { node.deliver(0) }
        rigs.run()
    }

    // It never began: each read was older than the newest record that had come meanwhile.
    @Test(arguments: [false, true])
    func `a stream of a session that commits all the time begins with the second read`(
        sendsRecords: Bool
    ) throws {
        let (rigs, links, session) = try linked(sendingRecords: sendsRecords)
        let first = try rigs.stream("s", at: 1)
        deliver(links, rigs)
        rigs.nodes[1].setImmediate(false)
        let second = try rigs.request("s", at: 1)
        rigs.run()
        try readLate(rigs, links, after: 1, of: session)
        #expect(rigs[1].table.cluster?.followed.loads == 3, "it was too old")
        #expect(names(rigs[1], second) == [])
        try readLate(rigs, links, after: 2, of: session)
        #expect(names(rigs[1], second).first == "snapshot")
        #expect(rigs[1].table.cluster?.followed.loads == 3)
        rigs.settle()
        deliver(links, rigs)
        let truth = try Truth(rigs.cluster.journal.all, of: session)
        check(rigs[1], [(.allPulses, first), (.allPulses, second)], against: truth)
        // The next one is shown at once again.
        _ = try rigs.post(Post.set(3), to: session, at: 0)
        deliver(links, rigs)
        for token in [first, second] { #expect(rigs[1].lines(token).last == "a 3 3") }
    }

    @Test(arguments: [false, true])
    func `a read that fails, or finds the end, does not keep the others waiting`(ends: Bool) throws
    {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let first = try rigs.stream("s", at: 1)
        deliver(links, rigs)
        rigs.nodes[1].setImmediate(false)
        _ = try rigs.request("s", at: 1)
        rigs.run()
        try readLate(rigs, links, after: 1, of: session)
        _ = try rigs[0].act(Post.set(2), on: session)
        rigs.run()
        if ends { _ = rigs[0].end(session) }
        rigs.run()
        while links.count > 0 { links.deliver(0) }
        rigs.run()
        #expect(rigs[1].lines(first).dropFirst() == ["a 1 1"])
        rigs.nodes[1].carryOut(0, failing: ends ? nil : .unavailable)
        rigs.nodes[1].deliver(0)
        rigs.settle()
        deliver(links, rigs)
        for _ in 0..<4 { rigs.look(at: 1) }
        let found = rigs[1].lines(first).dropFirst()
        #expect(found.prefix(2) == ["a 1 1", "a 2 2"])
        #expect((names(rigs[1], first).last == "end") == ends)
    }

    // It was taken for what the journal has, and the subscribers waited for another generation.
    @Test func `a read from before the end keeps no subscriber from getting the end`() throws {
        let (rigs, links, session) = try linked(sendingRecords: true)
        let first = try rigs.stream("s", at: 1)
        deliver(links, rigs)
        let node = rigs.nodes[1]
        node.setImmediate(false)
        var found: SessionLookup?
        _ = try rigs.request("s", at: 1) { found = $0 }
        rigs.run()
        try readLate(rigs, links, after: 1, of: session)
        try #require(node.waiting(.read) == 1)
        node.carryOut(0)
        _ = rigs[0].end(session)
        rigs.run()
        while links.count > 0 { links.deliver(0) }
        rigs.run()
        rigs[1].clock.uptime += 250
        rigs[1].table.askForChanges()
        node.settle(sparing: .read)
        rigs.run()
        try #require(rigs[1].table.asleep(session.id)?.isOver ?? false)
        node.deliver(0)
        rigs.settle()
        deliver(links, rigs)
        #expect(names(rigs[1], first) == ["snapshot", "a", "end"])
        guard case .ended? = found else {
            Issue.record("the other stream begins with \(String(describing: found))")
            return
        }
    }

    // MARK: Records that the journal does not have

    /// A node has sent a record that is in no journal, to one that follows the session.
    private func deceived(
        replicasFrom: Int = .max
    ) throws -> (ClusterRig, ScriptedLinks, Session, UInt64) {
        let (rigs, links, session) = try linked(sendingRecords: true, replicasFrom: replicasFrom)
        let token = try rigs.stream("s", at: 1)
        deliver(links, rigs)
        let records = CommittedRecords(
            session.generation.text, after: HistoryPosition(0), end: HistoryPosition(1), version: 1,
            text: Array("1 0 1 1 1 1 2 0\n{}\n".utf8))
        rigs[1].table.receive(session.id, records, from: rigs.nodes[0].node)
        rigs.run()
        #expect(rigs[1].table.asleep(session.id)?.history.committed.number == 1)
        rigs.nodes[1].setImmediate(false)
        return (rigs, links, session, token)
    }

    /// Carries out statements of the second node, one after the other.
    private func settle(_ rigs: ClusterRig, atMost limit: Int) {
        rigs.run()
        for _ in 0..<limit where rigs.nodes[1].waitingCount > 0 {
            rigs.nodes[1].carryOut(0)
            rigs.nodes[1].deliver(0)
            rigs.run()
        }
        #expect(rigs.nodes[1].waitingCount == 0, "it asks for ever")
    }

    // The session was read again as fast as the journal answered, and no stream of it began.
    @Test func `a stream begins with what the journal has`() throws {
        let (rigs, links, _, first) = try deceived()
        let second = try rigs.request("s", at: 1)
        settle(rigs, atMost: 20)
        #expect(names(rigs[1], second) == ["snapshot"])
        #expect(names(rigs[1], first) == ["snapshot", "reset", "snapshot"])
        deliver(links, rigs)
    }

    // The one from another loop continued, and got none of the next events.
    @Test func `the subscribers on both loops get a reset`() throws {
        let (rigs, links, session, first) = try deceived(replicasFrom: 0)
        let loop = try #require(rigs[1].second)
        try #require(loop.table.feeds.replicas.count == 1)
        // It keeps the stream.
        rigs[1].output.setCapacity(0, of: try rigs.request("s", at: 1))
        settle(rigs, atMost: 20)
        #expect(names(rigs[1], first) == ["snapshot", "reset", "snapshot"])
        rigs.nodes[1].setImmediate(true)
        rigs.settle()
        deliver(links, rigs)
        for number in 1...3 {
            _ = try rigs.post(Post.set(number), to: session, at: 0)
            deliver(links, rigs)
        }
        #expect(rigs[1].lines(first).suffix(3) == ["a 1 1", "a 2 2", "a 3 3"])
    }

    // It continued after records that are in no journal, without those that have their positions.
    @Test(arguments: [false, true])
    func `a subscriber whose connection accepts nothing meanwhile gets a reset`(
        isClaimed: Bool
    ) throws {
        let (rigs, links, session, first) = try deceived(replicasFrom: 0)
        try #require(try #require(rigs[1].second).table.feeds.replicas.count == 1)
        rigs[1].output.holdBack(":\n", of: first)
        if isClaimed {
            rigs.expire(0)
            rigs[1].table.wake(session.id) { _ in }
        } else {
            // It keeps the stream.
            rigs[1].output.setCapacity(0, of: try rigs.request("s", at: 1))
        }
        settle(rigs, atMost: 60)
        rigs.nodes[1].setImmediate(true)
        rigs.settle()
        deliver(links, rigs)
        let (owner, index) = isClaimed ? (try rigs.wake("s", at: 1), 1) : (session, 0)
        for number in 1...3 {
            _ = try rigs.post(Post.set(number), to: owner, at: index)
            deliver(links, rigs)
        }
        #expect(names(rigs[1], first) == ["snapshot"])
        rigs[1].output.setCapacity(nil, of: first)
        rigs.settle()
        for _ in 0..<4 { rigs.look(at: 1) }
        #expect(names(rigs[1], first).prefix(3) == ["snapshot", "reset", "snapshot"])
        #expect(rigs[1].lines(first).suffix(3) == ["a 1 1", "a 2 2", "a 3 3"])
        _ = try rigs.post(Post.set(4), to: owner, at: index)
        deliver(links, rigs)
        #expect(rigs[1].lines(first).last == "a 4 4")
        #expect(rigs[1].output.isStreaming(first))
    }

    // It was claimed again as fast as the journal answered, and every request for it waited.
    @Test func `a claim takes what the journal has`() throws {
        let (rigs, links, session, token) = try deceived()
        rigs.expire(0)
        var found: SessionLookup?
        rigs[1].table.wake(session.id) { found = $0 }
        settle(rigs, atMost: 60)
        guard case .session(let own)? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(own.isRunning && own.version == 0)
        rigs.nodes[1].setImmediate(true)
        _ = try rigs.post(Post.set(5), to: own, at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "reset", "snapshot", "a"])
        deliver(links, rigs)
    }

    // Its row named this node, which had no room: no other node could have it.
    @Test func `a claim that is repeated is given up before`() throws {
        let (rigs, links, session, _) = try deceived()
        rigs.expire(0)
        var found: SessionLookup?
        rigs[1].table.wake(session.id) { found = $0 }
        rigs.run()
        rigs.nodes[1].carryOut(0)
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        rigs[1].table.limits.sessions = 0
        rigs.nodes[1].deliver(0)
        settle(rigs, atMost: 20)
        guard case .noRoom? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        deliver(links, rigs)
    }
}
