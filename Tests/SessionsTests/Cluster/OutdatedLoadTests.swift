import Cluster
import Storage
import Testing

@testable import Sessions

@Suite(
    "ADR-0051 — what was read of a session before its newest records is read once more",
    .timeLimit(.minutes(15)))
struct OutdatedLoadTests: FollowedStreams {
    /// Everything that a node has read so far comes behind another event of the owner, and behind the news of it.
    private func readLate(
        _ rigs: ClusterRig, _ links: ScriptedLinks, behind number: Int, of session: Session
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
        try readLate(rigs, links, behind: 1, of: session)
        #expect(rigs[1].table.followed?.loads == 3, "it was too old")
        #expect(names(rigs[1], second) == [])
        try readLate(rigs, links, behind: 2, of: session)
        #expect(names(rigs[1], second).first == "snapshot")
        #expect(rigs[1].table.followed?.loads == 3)
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
        try readLate(rigs, links, behind: 1, of: session)
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
}
