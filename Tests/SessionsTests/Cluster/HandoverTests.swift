import Cluster
import Clustering
import Reactors
import Storage
import TestStreams
import Testing

@testable import Sessions

@Suite("A node that leaves gives up the sessions that are at rest", .timeLimit(.minutes(60)))
struct HandoverTests {
    /// Calls it until nothing changes: a snapshot may be missing, and a session that moves within
    /// the order of idle sessions may be missed.
    private func handOver(_ rigs: ClusterRig) {
        for _ in 0..<8 {
            rigs[0].table.handOver()
            rigs.settle()
        }
    }

    private func owners(_ rigs: ClusterRig, _ ids: String...) -> [Int64?] {
        ids.map { rigs.cluster.owner(of: $0)?.number }
    }

    @Test func `those with effects or subscribers follow when they come to rest`() async throws {
        let gate = Gate()
        let registration = try Registration.of("worker") { Worker(gate: gate) }
        let rigs = ClusterRig(2, [registration])
        for id in ["quiet", "effect", "stream"] {
            let session = try rigs[0].create(id, registration)
            rigs.settle()
            _ = try rigs.post(Post.count, to: session, at: 0)
        }
        let (working, read) = (try rigs[0].session("effect"), try rigs[0].session("stream"))
        _ = try rigs.post(Post.start("x"), to: working, at: 0)
        let subscriber = rigs[0].subscribe(read)
        handOver(rigs)
        #expect(owners(rigs, "quiet", "effect", "stream") == [nil, 1, 1])
        #expect(rigs[0].table.clusterCounts.claims.handedOver == 1)
        #expect(rigs[0].table.runningEffectCount == 1)
        // Another node continues it.
        let quiet = try rigs.wake("quiet", at: 1)
        #expect(try rigs.post(Post.count, to: quiet, at: 1) == "received v2 n2")
        rigs[0].output.disconnect(subscriber)
        handOver(rigs)
        #expect(owners(rigs, "quiet", "effect", "stream") == [2, 1, nil])
        gate.open()
        await rigs[0].work { rigs[0].table.runningEffectCount == 0 }
        handOver(rigs)
        #expect(owners(rigs, "quiet", "effect", "stream") == [2, nil, nil])
        #expect(try rigs.wake("effect", at: 1).version == 3)
        #expect(rigs[0].table.count == 0)
    }

    @Test func `many are given up some at a time, each once`() throws {
        let rigs = ClusterRig(2, [try .ledger()])
        for number in 0..<250 { _ = try rigs[0].create("s\(number)", .ledger()) }
        rigs.settle()
        rigs[0].table.handOver()
        rigs.settle()
        #expect((1...100).contains(rigs[0].table.clusterCounts.claims.handedOver))
        handOver(rigs)
        #expect(rigs[0].table.clusterCounts.claims.handedOver == 250)
        #expect(rigs[0].table.count == 0)
    }

    @Test func `a commit that is under way stays with its session`() throws {
        let rigs = ClusterRig(2, [try .ledger()])
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        let token = try rigs[0].act(Post.set(1), on: session)
        rigs[0].table.handOver()
        rigs.run()
        #expect(rigs.nodes[0].counts[.release] == nil)
        rigs.settle()
        #expect(rigs[0].line(token) == "received v1 n1")
        handOver(rigs)
        #expect(rigs.cluster.owner(of: "s") == nil)
        #expect(try rigs.wake("s", at: 1).version == 1)
    }

    @Test func `without owners nothing is given up`() throws {
        let rig = Rig(answers: true)
        try rig.create("s", .ledger())
        for _ in 0..<4 {
            rig.table.handOver()
            rig.settleAll()
        }
        #expect(rig.table.count == 1)
    }
}
