import Cluster
import Clustering
import Reactors
import Storage
import TestStreams
import Testing

@testable import Sessions

@Suite(
    "A node keeps no work of a session that another may continue",
    .timeLimit(.minutes(60)))
struct AbandonedReaderTests {
    private func two() throws -> (ClusterRig, Session) {
        let rigs = ClusterRig(2, [try .ledger()])
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        return (rigs, session)
    }

    // They were disconnected.
    @Test func `after a loss the subscribers of a session with another owner follow that one`()
        throws
    {
        let (rigs, session) = try two()
        let token = rigs[0].subscribe(session)
        rigs.cluster.setOwner(rigs.nodes[1].node, of: "s")
        rigs.cluster.journal.loseHistory(0)
        rigs.settle()
        rigs.look(at: 0)
        #expect(rigs[0].output.isStreaming(token))
        #expect(rigs[0].table.awakeCount == 0)
        #expect(rigs[0].table.clusterCounts.followed.sessions == 1)
        let next = try rigs.wake("s", at: 1)
        _ = try rigs.post(Post.set(1), to: next, at: 1)
        rigs.look(at: 0)
        let names = rigs[0].transcript(token).events.map(\.name)
        #expect(names == ["snapshot", "reset", "snapshot", "a"])
    }

    @Test func `after a loss an owner continues what it owns, with its subscribers`() throws {
        let (rigs, session) = try two()
        let token = rigs[0].subscribe(session)
        rigs.cluster.journal.loseHistory(0)
        rigs.settle()
        rigs.look(at: 0)
        let next = try rigs[0].session("s")
        #expect(next.isRunning)
        #expect(rigs[0].table.clusterCounts.followed.sessions == 0)
        _ = try rigs.post(Post.set(1), to: next, at: 0)
        let names = rigs[0].transcript(token).events.map(\.name)
        #expect(names == ["snapshot", "reset", "snapshot", "a"])
    }

    // Disconnected, they could not read it either.
    @Test func `after a loss the subscribers of a session without room are not disconnected`()
        throws
    {
        let (rigs, session) = try two()
        let token = rigs[0].subscribe(session)
        rigs[0].table.limits.sessions = 0
        rigs.cluster.journal.loseHistory(0)
        rigs.settle()
        rigs.look(at: 0)
        #expect(rigs[0].output.isStreaming(token))
        #expect(rigs[0].table.clusterCounts.followed.sessions == 1)
        let names = rigs[0].transcript(token).events.map(\.name)
        #expect(names == ["snapshot", "reset", "snapshot"])
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
