import Cluster
import Sessions
import Testing

@Suite(
    "ADR-0051 — a stream is closed if no node continues its session, and not before",
    .timeLimit(.minutes(60)))
struct RefusedClaimTests: FollowedStreams {
    /// A second is over.
    private func wait(_ rigs: ClusterRig, at index: Int) {
        rigs[index].clock.uptime += 750
        rigs.look(at: index)
    }

    private func claims(_ rigs: ClusterRig, at index: Int) -> Int {
        rigs.nodes[index].counts[.claim] ?? 0
    }

    // The fifth refusal closed them, and so did one in each of five absences.
    @Test func `refusals in favour of the owner close no stream`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        rigs.expire(0)
        rigs.beat(1)
        // It is back, and the other node has not heard of it.
        rigs.cluster.join(rigs.nodes[0].member)
        for _ in 0..<7 { wait(rigs, at: 1) }
        #expect(claims(rigs, at: 1) == 7)
        #expect(rigs[1].output.isStreaming(token))
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.look(at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "a"])
    }

    /// Nodes with an older program, of which the second follows a session that the third, with a
    /// newer one, owns by now. The fourth has the newer one as well.
    private func deployed() throws -> (ClusterRig, UInt64) {
        let old = try Registration.of("growing") { OldGrowth() }
        let new = try Registration.of("growing") { NewGrowth() }
        let rigs = ClusterRig(hosting: [[old], [old], [new], [new]])
        _ = try rigs[0].create("s", old)
        rigs.settle()
        let token = try rigs.stream("s", at: 1)
        rigs.expire(0)
        rigs.beat(2)
        _ = try rigs.wake("s", at: 2)
        rigs.settle()
        rigs.beat(1)
        wait(rigs, at: 1)
        return (rigs, token)
    }

    private func loseOwner(_ rigs: ClusterRig) {
        rigs.expire(2)
        rigs.beat(1)
    }

    @Test func `five refusals in favour of a node that does not continue it close them`() throws {
        let (rigs, token) = try deployed()
        let before = claims(rigs, at: 1)
        loseOwner(rigs)
        for _ in 0..<4 { wait(rigs, at: 1) }
        #expect(claims(rigs, at: 1) == before + 4)
        #expect(rigs[1].output.isStreaming(token))
        wait(rigs, at: 1)
        #expect(claims(rigs, at: 1) == before + 5)
        #expect(!rigs[1].output.isStreaming(token))
    }

    // They were counted together.
    @Test func `refusals of two absences of the owner are not added`() throws {
        let (rigs, token) = try deployed()
        let before = claims(rigs, at: 1)
        loseOwner(rigs)
        for _ in 0..<4 { wait(rigs, at: 1) }
        rigs.cluster.join(rigs.nodes[2].member)
        rigs.beat(1)
        wait(rigs, at: 1)
        loseOwner(rigs)
        for _ in 0..<4 { wait(rigs, at: 1) }
        #expect(claims(rigs, at: 1) == before + 8)
        #expect(rigs[1].output.isStreaming(token))
        wait(rigs, at: 1)
        #expect(!rigs[1].output.isStreaming(token))
    }
}
