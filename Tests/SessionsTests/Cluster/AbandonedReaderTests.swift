import Cluster
import Reactors
import Storage
import TestStreams
import Testing

@testable import Sessions

@Suite(
    "A node keeps no work of a session that another may continue",
    .timeLimit(.minutes(15)))
struct AbandonedReaderTests {
    private func two() throws -> (ClusterRig, Session) {
        let rigs = ClusterRig(2, [try .ledger()])
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        return (rigs, session)
    }

    @Test func `after a loss the subscribers of a session with another owner are disconnected`()
        throws
    {
        let (rigs, session) = try two()
        let token = rigs[0].subscribe(session, .allStates, .now)
        rigs.cluster.setOwner(rigs.nodes[1].node, of: "s")
        rigs.cluster.journal.loseHistory(0)
        rigs.settle()
        #expect(!rigs[0].output.isStreaming(token))
        #expect(rigs[0].table.count == 0)
    }

    @Test func `a session at work is continued when its node is heard again`() async throws {
        let gate = Gate()
        let registration = try Registration.of("worker") { Worker(gate: gate) }
        let rigs = ClusterRig(2, [registration])
        let session = try rigs[0].create("s", registration)
        rigs.settle()
        _ = try rigs.post(Post.start("x"), to: session, at: 0)
        rigs.expire(0)
        rigs.beat(0, joins: false)
        rigs[0].table.tick()
        rigs.settle()
        #expect(rigs[0].table.count == 0, "nobody hears the node")
        rigs.beat(0)
        rigs[0].table.tick()
        rigs.settle()
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[0].node)
        #expect(try rigs[0].session("s").isAwake)
        gate.open()
    }

    @Test func `a session at work that another node has claimed is left to it`() async throws {
        let gate = Gate()
        let registration = try Registration.of("worker") { Worker(gate: gate) }
        let rigs = ClusterRig(2, [registration])
        let session = try rigs[0].create("s", registration)
        rigs.settle()
        _ = try rigs.post(Post.start("x"), to: session, at: 0)
        rigs.expire(0)
        rigs.beat(0, joins: false)
        _ = try rigs.wake("s", at: 1)
        rigs.beat(0)
        for _ in 0..<3 {
            rigs[0].table.tick()
            rigs.settle()
        }
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        #expect(rigs[0].table.count == 0)
        gate.open()
    }
}
