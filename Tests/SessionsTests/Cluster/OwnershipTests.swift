import Cluster
import Reactors
import Storage
import TestStreams
import Testing

@testable import Clustering
@testable import Feeds
@testable import Sessions

@Suite("A session is decided by the node that owns it", .timeLimit(.minutes(60)))
struct OwnershipTests {
    private func two(isImmediate: Bool = true) throws -> ClusterRig {
        ClusterRig(2, [try .ledger()], isImmediate: isImmediate)
    }

    private func word(_ found: SessionLookup) -> String {
        switch found {
        case .session(let session): "session \(session.version)"
        case .copy(let copy): "copy \(copy.feed.history.committed.version)"
        case .elsewhere(let member, _): "elsewhere \(member.node.number)"
        case .unreadable(let failure): "unreadable \(failure.detail)"
        case .ended: "ended"
        case .nothing: "nothing"
        default: "\(found)"
        }
    }

    /// Ticks until the sessions that nobody uses are asleep.
    private func sleep(_ rigs: ClusterRig, _ index: Int) {
        for _ in 0..<12 {
            rigs[index].table.tick()
            rigs.settle()
        }
    }

    @Test func `a node that wakes a session claims it, and another is referred to the owner`()
        throws
    {
        let rigs = try two()
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        #expect(try word(rigs.find("s", at: 1)) == "elsewhere 1")
        #expect(try word(rigs.find("t", at: 1)) == "nothing")
        let session = try rigs[0].session("s")
        #expect(try rigs.post(Post.set(1), to: session, at: 0) == "received v1 n1")
    }

    @Test func `a session that falls asleep belongs to nobody, and continues on another node`()
        throws
    {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        sleep(rigs, 0)
        #expect(rigs.cluster.owner(of: "s") == nil)
        let other = try rigs.wake("s", at: 1)
        #expect(try rigs.post(Post.set(2), to: other, at: 1) == "received v2 n2")
        #expect(try word(rigs.find("s", at: 0)) == "elsewhere 2")
    }

    // Before, the claim waited for the commit, which is answered only when the database is back.
    @Test func `a node that is not heard refuses a claim at once, although a commit has no answer`()
        throws
    {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        let posted = try rigs[0].post(Post.set(1), to: session)
        rigs.run()
        rigs.expire(0)
        rigs.beat(0, joins: false)
        #expect(rigs[0].line(posted) != "-")
        var found: SessionLookup?
        rigs[0].table.wake(session.id) { found = $0 }
        rigs.run()
        #expect(rigs.nodes[0].waiting(.commit) == 1)
        #expect(rigs.nodes[0].waiting(.claim) == 0)
        #expect(
            found.map(word)
                == "unreadable no heartbeat of this node has reached the database in time")
    }

    // It was claimed, loaded, and given up again.
    @Test func `a node without room claims nothing, and still knows the owner`() throws {
        let rigs = try two()
        for id in ["s", "gone"] { _ = try rigs[0].create(id, .ledger()) }
        let own = try rigs[1].create("own", .ledger())
        rigs.settle()
        _ = rigs[0].end(try rigs[0].session("gone"))
        rigs.settle()
        // A session that is read stays in memory.
        let reader = rigs[1].subscribe(own)
        rigs[1].table.limits.sessions = 1
        #expect(try word(rigs.find("s", at: 1)) == "elsewhere 1")
        #expect(try word(rigs.find("gone", at: 1)) == "ended")
        #expect(try word(rigs.find("none", at: 1)) == "nothing")
        sleep(rigs, 0)
        #expect(try word(rigs.find("s", at: 1)) == "noRoom")
        #expect(rigs.cluster.owner(of: "s") == nil)
        #expect(rigs.nodes[1].counts[.claim] == nil)
        rigs[1].output.disconnect(reader)
        #expect(try word(rigs.find("s", at: 1)) == "session 0")
    }

    @Test func `sessions that are being loaded count as if they were there`() throws {
        let rigs = try two()
        for number in 0..<3 { _ = try rigs[0].create("s\(number)", .ledger()) }
        rigs.settle()
        sleep(rigs, 0)
        rigs[1].table.limits.sessions = 2
        rigs.nodes[1].setImmediate(false)
        var found: [String] = []
        for number in 0..<3 {
            rigs[1].table.wake(try #require(SessionID("s\(number)"))) { found.append(word($0)) }
        }
        rigs.settle()
        #expect(found.sorted() == ["noRoom", "session 0", "session 0"])
        #expect(rigs.nodes[1].counts[.claim] == 2)
    }

    @Test func `while too many wait to be given up, no other is claimed, and none is lost`() throws
    {
        let rigs = try two()
        let ids = ["s0", "s1", "s2"]
        for id in ids { _ = try rigs[0].create(id, .ledger()) }
        _ = try rigs[1].create("t", .ledger())
        rigs.settle()
        sleep(rigs, 1)
        rigs[0].table.cluster?.claims.releaseLimit = 2
        rigs.nodes[0].setImmediate(false)
        for _ in 0..<12 where rigs.nodes[0].waiting(.release) == 0 {
            rigs[0].table.tick()
            rigs[0].endRound()
            if rigs.nodes[0].waiting(.release) == 0 { rigs.settle() }
        }
        #expect(rigs[0].table.count == 0)
        #expect(!rigs[0].table.hasRoomForSession)
        #expect(try word(rigs.find("t", at: 0)) == "noRoom")
        #expect(ids.allSatisfy { rigs.cluster.owner(of: $0) == nil })
        #expect(rigs[0].table.hasRoomForSession)
        #expect(try word(rigs.find("t", at: 0)) == "session 0")
    }

    // As often as they fail.
    @Test func `sessions whose release fails are given up at the next tick, however many`() throws {
        let rigs = try two()
        let ids = ["s0", "s1", "s2"]
        for id in ids { _ = try rigs[0].create(id, .ledger()) }
        rigs.settle()
        rigs[0].table.cluster?.claims.releaseLimit = 2
        rigs.nodes[0].setImmediate(false)
        for _ in 0..<12 where rigs.nodes[0].waiting(.release) == 0 {
            rigs[0].table.tick()
            rigs[0].endRound()
            if rigs.nodes[0].waiting(.release) == 0 { rigs.settle() }
        }
        rigs.nodes[0].carryOut(0, failing: .unavailable)
        rigs.nodes[0].deliver(0)
        rigs.run()
        #expect(!rigs[0].table.hasRoomForSession)
        #expect(ids.allSatisfy { rigs.cluster.owner(of: $0) == rigs.nodes[0].node })
        rigs[0].table.tick()
        rigs.settle()
        #expect(ids.allSatisfy { rigs.cluster.owner(of: $0) == nil })
    }

    @Test func `a session that is being given up is claimed only after that`() throws {
        let rigs = try two()
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        for _ in 0..<12 where rigs.nodes[0].counts[.release] == nil {
            rigs[0].table.tick()
            rigs[0].endRound()
            if rigs.nodes[0].counts[.release] == nil { rigs.settle() }
        }
        #expect(rigs.nodes[0].counts[.release] == 1)
        var found: SessionLookup?
        rigs[0].table.wake(try #require(SessionID("s"))) { found = $0 }
        rigs.run()
        #expect(rigs.nodes[0].counts[.claim] == nil, "the release has no result yet")
        rigs.settle()
        guard case .session? = found else { throw Rig.NoSession(id: "s") }
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[0].node)
    }

    /// As a batch that is handed in again: it is let in under any owner.
    @Test func `a session is claimed only after what this node has sent of it`() throws {
        let rigs = ClusterRig(2, [try .ledger()], hasFence: false)
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        let sent = try rigs[0].act(Post.set(1), on: session)
        // Another node had it for a moment.
        let key = SessionKey(session: "s", generation: session.generation.text)
        rigs[0].table.ownershipChanged(
            OwnershipChange(
                members: rigs.nodes[0].members, deposed: [OwnedSession(key, epoch: 1)]))
        #expect(rigs[0].line(sent) == "failed outcomeUnknown v0 n0")
        var found: SessionLookup?
        rigs[0].table.wake(session.id) { found = $0 }
        rigs.run()
        #expect(rigs.nodes[0].counts[.claim] == nil, "the commit has no verdict yet")
        rigs.settle()
        guard case .session(let next)? = found else { throw Rig.NoSession(id: "s") }
        #expect(next.version == 1)
        #expect(rigs.cluster.journal.kept.count { $0.kind == .mutation } == 1)
    }

    @Test func `a session is given up only after what this node has sent of it`() throws {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        for number in 1...2 { try rigs[0].act(Post.set(number), on: session) }
        rigs.nodes[0].carryOut(0, failing: .unavailable)
        rigs.nodes[0].deliver(0)
        rigs.run()
        #expect(rigs[0].table.count == 0)
        #expect(rigs.nodes[0].counts[.release] == nil, "the second commit has no verdict yet")
        rigs.settle()
        #expect(rigs.nodes[0].counts[.release] == 1)
        #expect(rigs.cluster.owner(of: "s") == nil)
    }

    @Test func `a claim that waits for a commit ends with its process`() throws {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        try rigs[0].act(Post.set(1), on: session)
        let key = SessionKey(session: "s", generation: session.generation.text)
        rigs[0].table.ownershipChanged(
            OwnershipChange(
                members: rigs.nodes[0].members, deposed: [OwnedSession(key, epoch: 1)]))
        rigs[0].table.wake(session.id) { _ in Issue.record("nobody waits any more") }
        rigs[0].table.stop()
        rigs.settle()
        #expect(rigs.nodes[0].counts[.claim] == nil)
    }

    @Test func `a deposed owner's commit is refused, and the session leaves its memory`() throws {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        let late = try rigs[0].act(Post.set(1), on: session)
        rigs.expire(0)
        let other = try {
            rigs.nodes[1].beat()
            var found: SessionLookup?
            rigs[1].table.wake(try #require(SessionID("s"))) { found = $0 }
            rigs[1].drainInbox()
            guard case .session(let session)? = found else { throw Rig.NoSession(id: "s") }
            return session
        }()
        let accepted = try rigs[1].act(Post.set(2), on: other)
        rigs.settle()
        #expect(rigs[1].line(accepted) == "received v1 n1")
        #expect(rigs[0].line(late) == "failed moved v0 n0")
        #expect(rigs[0].table.count == 0)
        #expect(rigs.cluster.journal.kept.count { $0.kind == .mutation } == 1)
        #expect(rigs[0].table.clusterCounts.claims.deposed == 1)
    }

    @Test
    func `what a deposed owner has sent has an unknown outcome, and the rest was not applied`()
        throws
    {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.nodes[0].setImmediate(false)
        let sent = try rigs[0].act(Post.set(1), on: session)
        let gathered = try rigs[0].post(Post.set(2), to: session)
        rigs.expire(0)
        let other = try #require(
            { () -> Session? in
                var found: SessionLookup?
                if let id = SessionID("s") { rigs[1].table.wake(id) { found = $0 } }
                rigs[1].drainInbox()
                if case .session(let session)? = found { return session }
                return nil
            }())
        rigs.beat(0)
        #expect(rigs[0].line(sent) == "failed outcomeUnknown v0 n0")
        #expect(rigs[0].line(gathered) == "failed moved v0 n0")
        rigs.settle()
        #expect(other.version == 0)
        #expect(rigs.cluster.journal.kept.count { $0.kind == .mutation } == 0)
    }

    @Test func `a node whose lease is over decides nothing until it is heard again`() throws {
        let rigs = try two()
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.expire(0)
        rigs.beat(0, joins: false)
        #expect(rigs[0].table.count == 0)
        #expect(try word(rigs.find("s", at: 0)).hasPrefix("unreadable"))
        rigs.beat(0)
        #expect(try word(rigs.find("s", at: 0)) == "session 0")
    }

    @Test func `a claim whose result arrives after the lease is over begins nothing`() throws {
        let rigs = try two()
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        sleep(rigs, 0)
        rigs.nodes[0].setImmediate(false)
        var found: SessionLookup?
        rigs[0].table.wake(try #require(SessionID("s"))) { found = $0 }
        rigs.nodes[0].carryOut(0)
        rigs.expire(0)
        rigs.beat(0, joins: false)
        rigs.settle()
        #expect(try word(#require(found)).hasPrefix("unreadable"))
        #expect(rigs[0].table.count == 0)
        #expect(rigs.cluster.owner(of: "s") == nil, "it is given up again")
    }

    @Test func `two nodes that create one session get one, and one refusal`() throws {
        let rigs = try two(isImmediate: false)
        let first = rigs[0].nextToken()
        let second = rigs[1].nextToken()
        let id = try #require(SessionID("s"))
        try rigs[0].table.create(id, .ledger(), for: first)
        try rigs[1].table.create(id, .ledger(), for: second)
        rigs.settle()
        #expect(rigs[0].line(first) == "created v0 n0")
        #expect(rigs[1].line(second).hasPrefix("failed"))
        #expect(rigs[1].table.count == 0)
        #expect(try word(rigs.find("s", at: 1)) == "elsewhere 1")
    }

    @Test func `effects of a deposed owner are cancelled`() async throws {
        let gate = Gate()
        let registration = try Registration.of("worker") { Worker(gate: gate) }
        let rigs = ClusterRig(2, [registration])
        let session = try rigs[0].create("s", registration)
        rigs.settle()
        _ = try rigs.post(Post.start("x"), to: session, at: 0)
        #expect(rigs[0].table.counts.runningEffects == ["worker": 1])
        rigs.expire(0)
        _ = try rigs.wake("s", at: 1)
        rigs.beat(0)
        #expect(rigs[0].table.counts.runningEffects["worker"] ?? 0 == 0)
        #expect(rigs[0].table.count == 0)
        gate.open()
    }

    @Test func `a session that cannot be rebuilt is given up, and deleted by its owner alone`()
        throws
    {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let key = SessionKey(session: "s", generation: session.generation.text)
        sleep(rigs, 0)
        rigs.cluster.journal.spoil(key, .undecodable)
        guard case .quarantined = try rigs.find("s", at: 0) else {
            throw Rig.NoSession(id: "s")
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        var outcome: DeletionOutcome?
        rigs[1].table.delete(session.id) { outcome = $0 }
        rigs.settle()
        guard case .deleted? = outcome else { throw Rig.NoSession(id: "s") }
        #expect(try word(rigs.find("s", at: 0)) == "ended")
    }

    // It was listed as one that cannot be rebuilt, and its effects were never continued here.
    @Test func `one that was created anew elsewhere is not the one that could not be rebuilt`()
        throws
    {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        sleep(rigs, 0)
        let key = SessionKey(session: "s", generation: session.generation.text)
        rigs.cluster.journal.spoil(key, .undecodable)
        guard case .quarantined = try rigs.find("s", at: 0) else {
            throw Rig.NoSession(id: "s")
        }
        let head = { (generation: String) in
            SavedHead(key: SessionKey(session: "s", generation: generation), reactor: "ledger")
        }
        #expect(rigs[0].table.fault(of: head(key.generation)) != nil)
        rigs[1].table.delete(session.id) { _ in }
        rigs.settle()
        let next = try rigs[1].create("s", .ledger())
        rigs.settle()
        #expect(rigs[0].table.fault(of: head(next.generation.text)) == nil)
        for _ in 0..<2 {
            for index in 0..<2 { sleep(rigs, index) }
            #expect(try rigs.wake("s", at: 0).isRunning)
        }
        sleep(rigs, 0)
        rigs[0].table.wakeWorking([session.id]) {}
        rigs.settle()
        #expect(try rigs[0].session("s").isRunning)
    }

    @Test func `a session that was deleted on another node has ended here`() throws {
        let rigs = try two()
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        let token = rigs[0].end(session)
        rigs.settle()
        #expect(rigs[0].line(token).hasPrefix("ended"))
        #expect(try word(rigs.find("s", at: 1)) == "ended")
        #expect(try word(rigs.find("s", at: 0)) == "ended")
    }

    @Test func `without owners nothing is claimed`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        #expect(rig.journal.keptBatch.runs.allSatisfy { $0.epoch == 0 })
        #expect(!rig.table.sharesJournal)
        #expect(rig.table.owned == [])
    }

    // Without one, its sessions would be decided here and at other nodes.
    @Test func `a table of a shared journal needs a placement`() async {
        await #expect(processExitsWith: .failure) {
            _ = SessionTable(
                journal: ScriptedNode(1, of: ScriptedCluster()),
                limits: SessionLimits(sessions: 1, batch: 1, retention: Retention()),
                services: LoopServices(
                    now: { 0 }, hop: { _ in true },
                    isolation: LoopIsolation(check: {}, runAfterStop: { _ in })))
        }
    }
}
