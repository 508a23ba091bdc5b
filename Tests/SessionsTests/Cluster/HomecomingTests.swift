import Cluster
import Clustering
import Reactors
import Storage
import TestStreams
import Testing

@testable import Feeds
@testable import Sessions

@Suite("Sessions that are at rest go to their homes", .timeLimit(.minutes(60)))
struct HomecomingTests {
    /// A node with sessions, and another one that has joined it.
    private func joined(_ count: Int, _ registration: Registration) throws -> ClusterRig {
        let rigs = ClusterRig(2, [registration])
        rigs.expire(1)
        rigs.beat(0)
        for number in 0..<count { try rigs[0].create("s\(number)", registration) }
        rigs.settle()
        rigs.beat(1)
        rigs.beat(0)
        return rigs
    }

    /// The numbers of the sessions whose home is the second node.
    private func strangers(_ rigs: ClusterRig, _ count: Int) -> [Int] {
        let members = rigs.nodes[0].members
        return (0..<count).filter { members.home(of: "s\($0)") == rigs.nodes[1].node }
    }

    /// The sessions that nobody owns.
    private func free(_ rigs: ClusterRig, _ count: Int) -> [Int] {
        (0..<count).filter { rigs.cluster.owner(of: "s\($0)") == nil }
    }

    private func sendHome(_ rigs: ClusterRig, after milliseconds: Int64, times: Int = 1) {
        for _ in 0..<times {
            rigs[0].clock.uptime += milliseconds
            rigs[0].table.sendHome()
            rigs.settle()
        }
    }

    @Test func `those that were not used for a while, and whose home is another member`()
        throws
    {
        let rigs = try joined(20, .ledger())
        let strangers = strangers(rigs, 20)
        #expect((3...17).contains(strangers.count))
        sendHome(rigs, after: 0)
        sendHome(rigs, after: 4_999)
        #expect(free(rigs, 20) == [])
        // One that is used stays.
        let used = try #require(strangers.first)
        _ = try rigs.post(Post.set(1), to: try rigs[0].session("s\(used)"), at: 0)
        sendHome(rigs, after: 1)
        #expect(free(rigs, 20) == Array(strangers.dropFirst()))
        sendHome(rigs, after: 4_998)
        #expect(free(rigs, 20) == Array(strangers.dropFirst()))
        // It gets a snapshot first.
        sendHome(rigs, after: 2)
        #expect(free(rigs, 20) == Array(strangers.dropFirst()))
        sendHome(rigs, after: 5_000)
        #expect(free(rigs, 20) == strangers)
        #expect(rigs[0].table.clusterCounts.claims.sentHome == UInt64(strangers.count))
        let there = try rigs.wake("s\(used)", at: 1)
        #expect(there.version == 1)
    }

    // Without that each request that another node sends here would bring it back.
    @Test func `the next request for one is referred to its home, the one after that is served`()
        throws
    {
        let rigs = try joined(20, .ledger())
        let id = "s\(try #require(strangers(rigs, 20).first))"
        sendHome(rigs, after: 5_000, times: 2)
        #expect(rigs.cluster.owner(of: id) == nil)
        guard case .elsewhere(let home, _) = try rigs.find(id, at: 0) else {
            Issue.record("it is not referred")
            return
        }
        #expect(home.node == rigs.nodes[1].node)
        #expect(rigs.cluster.owner(of: id) == nil)
        #expect(try rigs.wake(id, at: 0).version == 0)
        #expect(rigs.cluster.owner(of: id) == rigs.nodes[0].node)
    }

    @Test func `one whose home has ended since is claimed`() throws {
        let rigs = try joined(20, .ledger())
        let id = "s\(try #require(strangers(rigs, 20).first))"
        sendHome(rigs, after: 5_000, times: 2)
        rigs.nodes[1].kill()
        rigs.beat(0)
        #expect(try rigs.wake(id, at: 0).version == 0)
    }

    @Test func `one that is deleted, taken by force, or whose home is about to end is claimed`()
        throws
    {
        let rigs = try joined(40, .ledger())
        let ids = strangers(rigs, 40).prefix(3).map { "s\($0)" }
        try #require(ids.count == 3)
        sendHome(rigs, after: 5_000, times: 3)
        for id in ids { #expect(rigs.cluster.owner(of: id) == nil) }
        var deposing: SessionLookup?
        let taken = try #require(SessionID(ids[1]))
        rigs[0].table.wake(taken, deposing: rigs.nodes[1].node) { deposing = $0 }
        rigs.settle()
        guard case .session? = deposing else { throw Rig.NoSession(id: ids[1]) }
        var outcome: DeletionOutcome?
        rigs[0].table.delete(try #require(SessionID(ids[2]))) { outcome = $0 }
        rigs.settle()
        guard case .deleted? = outcome else { throw Rig.NoSession(id: ids[2]) }
        var leaving = rigs.nodes[1].member
        leaving.isLeaving = true
        rigs.cluster.join(leaving)
        rigs.beat(0)
        #expect(try rigs.wake(ids[0], at: 0).version == 0)
    }

    // They may have parts, which reach them anywhere.
    @Test func `the sessions of a Cycler go home as well`() throws {
        let registration = try Registration(
            name: "cashier", activities: ["said"], examples: [], makeCycler: { Cashier() })
        let rigs = try joined(20, registration)
        let strangers = strangers(rigs, 20)
        try #require(!strangers.isEmpty)
        sendHome(rigs, after: 5_000, times: 4)
        #expect(free(rigs, 20) == strangers)
        #expect(rigs[0].table.clusterCounts.claims.sentHome == UInt64(strangers.count))
    }

    @Test func `one with effects or subscribers stays`() async throws {
        let gate = Gate()
        let registration = try Registration.of("worker") { Worker(gate: gate) }
        let rigs = try joined(20, registration)
        let strangers = strangers(rigs, 20)
        try #require(strangers.count > 2)
        _ = rigs[0].subscribe(try rigs[0].session("s\(strangers[0])"))
        _ = try rigs.post(
            Post.start("x"), to: try rigs[0].session("s\(strangers[1])"), at: 0)
        sendHome(rigs, after: 5_000, times: 4)
        #expect(free(rigs, 20) == Array(strangers.dropFirst(2)))
        gate.open()
        await rigs[0].work { rigs[0].table.runningEffectCount == 0 }
        sendHome(rigs, after: 5_000, times: 4)
        #expect(free(rigs, 20) == Array(strangers.dropFirst()))
    }

    @Test func `a node that is alone, or not heard of, or whose peers cannot read them, keeps all`()
        throws
    {
        let rigs = try joined(20, .ledger())
        rigs.expire(1)
        rigs.beat(0)
        sendHome(rigs, after: 5_000, times: 2)
        #expect(free(rigs, 20) == [])
        let older = ClusterRig(hosting: [[try .ledger()], []])
        for number in 0..<20 { try older[0].create("s\(number)", .ledger()) }
        older.settle()
        sendHome(older, after: 5_000, times: 2)
        #expect(free(older, 20) == [])
    }

    @Test func `some at a time`() throws {
        let rigs = try joined(600, .ledger())
        let strangers = strangers(rigs, 600)
        sendHome(rigs, after: 5_000, times: 7)
        sendHome(rigs, after: 5_000)
        #expect((1...100).contains(free(rigs, 600).count))
        sendHome(rigs, after: 5_000, times: 20)
        #expect(free(rigs, 600) == strangers)
        #expect(rigs[0].table.clusterCounts.claims.sentHome == UInt64(strangers.count))
    }
}
