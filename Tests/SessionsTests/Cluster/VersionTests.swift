import Cluster
import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite("A session goes to no node that cannot read it", .timeLimit(.minutes(60)))
struct VersionTests {
    private func word(_ found: SessionLookup) -> String {
        switch found {
        case .session(let session): "session \(session.version)"
        case .copy(let copy): "copy \(copy.feed.history.committed.version)"
        case .elsewhere(let member, let traits):
            "elsewhere \(member.node.number) \(traits?.reactor ?? "")"
        case .noNode(let traits, let version): "no node \(traits.reactor) \(version)"
        default: "\(found)"
        }
    }

    private func old() throws -> Registration { try .of("growing") { OldGrowth() } }
    private func new() throws -> Registration { try .of("growing") { NewGrowth() } }

    /// Nodes with an older program, a newer one, and one that hosts something else; a session of
    /// the newer one that sleeps.
    private func nodes() throws -> (ClusterRig, SessionID) {
        let rigs = ClusterRig(hosting: [[try old()], [try new()], [try .ledger()]])
        let session = try rigs[1].create("s", new())
        rigs.settle()
        _ = try rigs.post(#"{"add":{"centimetres":300}}"#, to: session, at: 1)
        for _ in 0..<12 {
            rigs[1].table.tick()
            rigs.settle()
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        return (rigs, session.id)
    }

    private func read(_ id: SessionID, _ rigs: ClusterRig, at index: Int) throws -> SessionLookup {
        var found: SessionLookup?
        rigs[index].table.read(id, .confirmed) { result, _ in found = result }
        rigs.settle()
        return try #require(found)
    }

    @Test func `it is referred to a member that can, to be woken and to be read`() throws {
        let (rigs, id) = try nodes()
        for index in [0, 2] {
            #expect(try word(rigs.find("s", at: index)) == "elsewhere 2 growing")
            #expect(try word(read(id, rigs, at: index)) == "elsewhere 2 growing")
            var opened: SessionLookup?
            rigs[index].table.findForStream(id, for: nil, while: { true }) { opened = $0 }
            rigs.settle()
            #expect(try word(#require(opened)) == "elsewhere 2 growing")
        }
        #expect(rigs.cluster.claims == 0, "nobody has claimed it")
        #expect(try word(read(id, rigs, at: 1)) == "copy 1")
    }

    @Test func `without such a member it is as it was, and nobody's`() throws {
        let (rigs, id) = try nodes()
        rigs.expire(1)
        for index in [0, 2] {
            rigs.beat(index)
            #expect(try word(rigs.find("s", at: index)) == "no node growing 2")
            #expect(try word(read(id, rigs, at: index)) == "no node growing 2")
            var opened: SessionLookup?
            rigs[index].table.findForStream(id, for: nil, while: { true }) { opened = $0 }
            rigs.settle()
            #expect(try word(#require(opened)) == "no node growing 2")
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        // It continues with the newer program.
        rigs.beat(1)
        let session = try rigs.wake("s", at: 1)
        #expect(
            try rigs.post(#"{"add":{"centimetres":100}}"#, to: session, at: 1) == "received v2 n2")
    }

    @Test func `a newer program takes over a session of an older one`() throws {
        let rigs = ClusterRig(hosting: [[try old()], [try new()]])
        let session = try rigs[0].create("s", old())
        rigs.settle()
        _ = try rigs.post(#"{"add":{"_0":2}}"#, to: session, at: 0)
        rigs.expire(0)
        rigs.nodes[1].beat()
        let next = try rigs.wake("s", at: 1)
        rigs.settle()
        #expect(next.version == 1)
        // The older one does not get it back.
        rigs.beat(0)
        rigs.expire(1)
        rigs.beat(0)
        #expect(try word(rigs.find("s", at: 0)) == "no node growing 2")
    }

    // Its streams began with `null`, and a claim of the same session was refused.
    @Test func `a migrated state that cannot be saved is not shown either`() throws {
        let brittle = try Registration.of("growing") { BrittleGrowth() }
        let rigs = ClusterRig(hosting: [[try old()], [brittle]])
        for (id, sum) in [("s", 5), ("t", 4)] {
            let session = try rigs[0].create(id, old())
            rigs.settle()
            _ = try rigs.post(#"{"add":{"_0":\#(sum)}}"#, to: session, at: 0)
        }
        let streams = try ["s", "t"].map { try rigs.stream($0, at: 1, .allStates) }
        #expect(rigs[1].lines(streams[0]) == [])
        #expect(rigs[1].lines(streams[1]) == [#"snapshot 1 {"sum":4}"#])
        guard
            case .quarantined(let fault) = try read(#require(SessionID("s")), rigs, at: 1)
        else {
            Issue.record("it is shown")
            return
        }
        #expect(fault.place == "the migrated state of version 1")
        #expect(rigs[1].table.count == 1)
    }

    @Test func `a session that no node can read is deleted`() throws {
        let (rigs, id) = try nodes()
        rigs.expire(1)
        rigs.beat(0)
        #expect(try word(rigs.find("s", at: 0)) == "no node growing 2")
        var outcome: DeletionOutcome?
        rigs[0].table.delete(id) { outcome = $0 }
        rigs.settle()
        guard case .deleted? = outcome else { throw Rig.NoSession(id: "s") }
        guard case .ended = try rigs.find("s", at: 0) else { throw Rig.NoSession(id: "s") }
    }
}
