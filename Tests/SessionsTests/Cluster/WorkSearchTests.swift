import Cluster
import Clustering
import Reactors
import Storage
import Synchronization
import TestStreams
import Testing

@testable import Feeds
@testable import Sessions

@Suite("Sessions that act without a request are woken", .timeLimit(.minutes(60)))
struct WorkSearchTests {
    private func worker(_ gate: Gate, _ source: AsyncStream<Worker.Mutation>? = nil) throws
        -> Registration
    {
        try .of("worker") { Worker(gate: gate, source: source) }
    }

    private func search(_ rigs: ClusterRig, _ index: Int) throws -> WorkSearch {
        let inbox = rigs[index].inbox
        return try #require(
            WorkSearch(rigs.nodes[index], [worker(Gate())]) { ids, done in
                if !inbox.put({ $0.wakeWorking(ids, then: done) }) { done() }
            })
    }

    /// A node with sessions whose effects run, and others.
    private func nodes(
        _ count: Int, _ sessions: Int, _ registration: Registration, isImmediate: Bool = true
    ) throws -> ClusterRig {
        let rigs = ClusterRig(count, [registration], isImmediate: isImmediate)
        for number in 0..<sessions {
            let session = try rigs[0].create("s\(number)", registration)
            rigs.settle()
            _ = try rigs.post(Post.start("x"), to: session, at: 0)
        }
        // Its effects have never run.
        _ = try rigs[0].create("quiet", registration)
        rigs.settle()
        return rigs
    }

    /// The first node is killed, and the others notice it.
    private func kill(_ rigs: ClusterRig) {
        rigs.nodes[0].kill()
        for index in rigs.nodes.indices.dropFirst() { rigs.beat(index) }
    }

    private func owners(_ rigs: ClusterRig, _ sessions: Int) -> [Node?] {
        (0..<sessions).map { rigs.cluster.owner(of: "s\($0)") }
    }

    @Test func `after the end of a member each is woken by its home, once`() throws {
        let gate = Gate()
        let rigs = try nodes(3, 12, worker(gate))
        kill(rigs)
        let searches = try [1, 2].map { try search(rigs, $0) }
        for search in searches { search.begin() }
        rigs.settle()
        let members = rigs.nodes[1].members
        #expect(owners(rigs, 12) == (0..<12).map { members.home(of: "s\($0)") })
        #expect(Set(owners(rigs, 12)).count == 2, "twelve sessions have two homes")
        #expect(rigs.cluster.claims == 12)
        #expect(rigs.cluster.owner(of: "quiet") == rigs.nodes[0].node, "nobody has asked for it")
        #expect(rigs[1].table.counts.woken + rigs[2].table.counts.woken == 12)
        // Its effects are recorded as failed: `recovery(of:)` says no more.
        #expect(rigs.cluster.journal.kept.count { $0.kind == .failure } == 12)
        for search in searches { search.begin() }
        rigs.settle()
        #expect(rigs.cluster.claims == 12)
        gate.open()
    }

    @Test func `nobody wakes a session whose owner is a member`() throws {
        let gate = Gate()
        let rigs = try nodes(2, 3, worker(gate))
        let searches = try [0, 1].map { try search(rigs, $0) }
        for search in searches { search.begin() }
        rigs.settle()
        #expect(rigs.cluster.claims == 0)
        #expect(rigs[0].table.counts.runningEffects == ["worker": 3])
        gate.open()
    }

    @Test func `a node that leaves, or was not heard, wakes nobody`() throws {
        let gate = Gate()
        let rigs = try nodes(2, 3, worker(gate))
        rigs.nodes[0].kill()
        rigs.expire(1)
        rigs.beat(1, joins: false)
        let search = try search(rigs, 1)
        search.begin()
        rigs.settle()
        #expect(rigs.cluster.claims == 0)
        // The members have changed.
        rigs.beat(1)
        search.membersChanged(rigs.nodes[1].members)
        rigs.settle()
        #expect(rigs.cluster.claims == 3)
        search.membersChanged(rigs.nodes[1].members)
        search.stop()
        search.begin()
        rigs.settle()
        #expect(rigs.cluster.claims == 3)
        gate.open()
    }

    @Test func `at most 16 are loaded at a time`() throws {
        let gate = Gate()
        let rigs = try nodes(2, 40, worker(gate))
        kill(rigs)
        rigs.nodes[1].setImmediate(false)
        let search = try search(rigs, 1)
        search.begin()
        rigs.nodes[1].settle()
        rigs[1].drainInbox()
        #expect(rigs.nodes[1].counts[.claim] == 16)
        rigs.settle()
        #expect(rigs.nodes[1].counts[.claim] == 40)
        #expect(rigs[1].table.counts.woken == 40)
        gate.open()
    }

    @Test func `one that cannot be rebuilt is tried once, and one that has ended not at all`()
        throws
    {
        let gate = Gate()
        let rigs = try nodes(2, 2, worker(gate))
        let ended = try rigs[0].session("s0"), spoiled = try rigs[0].session("s1")
        _ = rigs[0].end(ended)
        rigs.settle()
        let key = SessionKey(session: "s1", generation: spoiled.generation.text)
        rigs.cluster.journal.spoil(key, .undecodable)
        kill(rigs)
        let search = try search(rigs, 1)
        for _ in 0..<3 {
            search.begin()
            rigs.settle()
        }
        #expect(rigs.cluster.claims == 1)
        #expect(rigs.cluster.owner(of: "s1") == nil)
        #expect(rigs[1].table.counts.woken == 0)
        gate.open()
    }

    @Test func `a session that listens is woken, and one whose sources have ended is not`()
        async throws
    {
        let (elements, element) = AsyncStream<Worker.Mutation>.makeStream()
        let (others, other) = AsyncStream<Worker.Mutation>.makeStream()
        let first = try worker(Gate(), others)
        let rigs = ClusterRig(hosting: [[first], [try worker(Gate(), elements)]])
        try rigs[0].create("s", first)
        rigs.settle()
        #expect(rigs.cluster.journal.loaded("s")?.snapshot?.listens == true)
        kill(rigs)
        let search = try search(rigs, 1)
        search.begin()
        rigs.settle()
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        let woken = try rigs[1].session("s")
        #expect(!woken.isAtRest)
        element.finish()
        await rigs[1].work { woken.isAtRest }
        for _ in 0..<12 {
            rigs[1].table.tick()
            rigs.settle()
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        #expect(rigs.cluster.journal.loaded("s")?.snapshot?.listens == false)
        let claims = rigs.cluster.claims
        search.begin()
        rigs.settle()
        #expect(rigs.cluster.claims == claims)
        other.finish()
    }

    /// Three sessions, of which the first does not work, in a process that follows another one.
    private func restarted(_ gate: Gate, _ interrupted: [InterruptedWork] = []) throws
        -> (next: Rig, search: WorkSearch)
    {
        let registration = try worker(gate)
        let rig = Rig(answers: true)
        for number in 0..<3 {
            let session = try rig.create("s\(number)", registration)
            if number > 0 { try rig.act(Post.start("x"), on: session) }
        }
        rig.table.stop()
        rig.journal.state.withLock { $0.interrupted = interrupted }
        let next = Rig(journal: rig.journal, registrations: [registration])
        let inbox = next.inbox
        let search = try #require(
            WorkSearch(rig.journal, [registration]) { ids, done in
                if !inbox.put({ $0.wakeWorking(ids, then: done) }) { done() }
            })
        return (next, search)
    }

    @Test func `after a restart the only process wakes them`() async throws {
        let gate = Gate()
        let (next, search) = try restarted(gate)
        #expect(search.firstPause == .zero)
        search.begin()
        await next.work { next.table.counts.woken == 2 }
        next.settleAll()
        #expect(next.table.count == 2)
        #expect(next.journal.kept.count { $0.kind == .failure } == 2)
        gate.open()
    }

    @Test func `one in whose code the process has ended is not woken, and the others later`()
        async throws
    {
        let gate = Gate()
        let interrupted = { (session: String, trace: InterruptedWork.Trace) in
            InterruptedWork(session: session, reactor: "worker", action: 1, trace: trace)
        }
        let (next, search) = try restarted(
            gate,
            [interrupted("s1", .loop(.effect)), interrupted("s2", .running(begun: 2))])
        #expect(search.firstPause == .seconds(600))
        search.begin()
        await next.work { next.table.counts.woken == 1 }
        next.settleAll()
        #expect(try next.session("s2").isAwake)
        #expect(throws: Rig.NoSession.self) { try next.session("s1") }
        // That effects ran is no sign: their number is limited.
        let (_, other) = try restarted(gate, [interrupted("s2", .running(begun: 2))])
        #expect(other.firstPause == .zero)
        gate.open()
    }
}
