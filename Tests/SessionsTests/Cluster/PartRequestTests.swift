import Cluster
import Reactors
import Testing

@testable import Sessions

@Suite("A part is loaded where its parent is awake, and once", .timeLimit(.minutes(15)))
struct PartRequestTests {
    /// The second node has a session and a part of it awake; the journal says that nobody owns the part.
    private func parted() throws -> (ClusterRig, SessionID) {
        let registration = try Registration(
            name: "cashier", activities: ["said"], examples: [], makeCycler: { Cashier() })
        let rigs = ClusterRig(2, [registration])
        try rigs[1].create("c", registration)
        try rigs[1].create("c--p", registration)
        rigs.settle()
        rigs.cluster.leaveUnowned("c--p")
        return (rigs, try #require(SessionID("c--p")))
    }

    @Test func `a request is sent to the node that has the parent`() throws {
        let (rigs, part) = try parted()
        var found: SessionLookup?
        rigs[0].table.wakeForRequest(part) { found = $0 }
        rigs.settle()
        guard case .elsewhere(let member, _)? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(member.node == rigs.nodes[1].node)
        #expect(rigs.nodes[0].counts[.claim, default: 0] == 0)
    }

    // The second claim has another epoch than the session has: its commits would be refused.
    @Test func `two requests at the same time claim it once`() throws {
        let (rigs, part) = try parted()
        rigs.cluster.leaveUnowned("c")
        let node = rigs.nodes[0]
        node.setImmediate(false)
        var found: [SessionLookup] = []
        rigs[0].table.wakeForRequest(part) { found.append($0) }
        rigs.run()
        node.settle()
        rigs.run()
        #expect(node.waiting(.claim) == 1)
        // This one has looked for the parent when the part is not in memory yet.
        rigs[0].table.wakeForRequest(part) { found.append($0) }
        rigs.run()
        #expect(node.waiting(.confirm) == 1)
        node.settle(sparing: .confirm)
        rigs.run()
        #expect(found.count == 1)
        rigs.settle()
        #expect(found.count == 2)
        for lookup in found {
            guard case .session = lookup else {
                Issue.record("\(lookup)")
                continue
            }
        }
        #expect(node.counts[.claim] == 1)
    }

    // It would be referred back and forth until the request fails: a node that leaves claims nothing.
    @Test func `it is loaded here while the parent's node leaves`() throws {
        let (rigs, part) = try parted()
        var leaving = rigs.nodes[1].member
        leaving.isLeaving = true
        rigs.cluster.join(leaving)
        rigs.beat(0)
        var found: SessionLookup?
        rigs[0].table.wakeForRequest(part) { found = $0 }
        rigs.settle()
        guard case .session? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
    }
}
