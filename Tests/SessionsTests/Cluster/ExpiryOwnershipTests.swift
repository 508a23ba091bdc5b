import Cluster
import Clustering
import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("In a cluster one node ends an unused session", .timeLimit(.minutes(60)))
struct ExpiryOwnershipTests {
    private static let life: Int64 = 60_000
    /// From the row until the session may be examined: half a minute, and the slack of clocks.
    private static let grace: Int64 = 150_000

    private func rigs(_ count: Int = 2) throws -> (ClusterRig, Registration) {
        try ClusterRig.ofExpiringLedgers(count, life: Self.life)
    }

    /// A search of one node, by a clock that all share.
    private func look(_ rigs: ClusterRig, _ index: Int) throws {
        let (inbox, time) = (rigs[index].inbox, rigs[index].clock.milliseconds)
        let hosted = [try Registration.ledger()]
        let rules = try #require(WorkSearch(rigs.nodes[index], hosted) { _, done in done() })
        let search = TimerSearch(.expiries, rules, now: { time }) { found, done in
            if !inbox.put({ $0.expiry.examine(found, then: done) }) { done() }
        }
        search.begin()
        rigs.settle()
        rigs.cluster.journal.writeExpiries(at: time)
    }

    private func pass(_ milliseconds: Int64, _ rigs: ClusterRig) {
        for rig in rigs.rigs {
            rig.clock.milliseconds += milliseconds
            rig.table.expiry.postponeRead()
        }
        rigs.cluster.journal.writeExpiries(at: rigs[0].clock.milliseconds)
    }

    private func isOver(_ rigs: ClusterRig) -> Bool {
        rigs.cluster.journal.all.last?.kind == .deleted
    }

    @Test func `its owner, whichever node is its home`() throws {
        for owner in 0..<2 {
            let (rigs, ledger) = try rigs()
            _ = try rigs[owner].create("s", ledger)
            rigs.settle()
            pass(2 * Self.life + Self.grace, rigs)
            try look(rigs, 1 - owner)
            #expect(!isOver(rigs))
            #expect(rigs.cluster.claims == 0)
            try look(rigs, owner)
            #expect(isOver(rigs))
        }
    }

    @Test func `its home, if nobody owns it`() throws {
        let (rigs, ledger) = try rigs(3)
        _ = try rigs[0].create("s", ledger)
        rigs.settle()
        rigs.nodes[0].kill()
        for index in 1...2 { rigs.beat(index) }
        let home = rigs.nodes[1].members.home(of: "s")
        let index = rigs.nodes[1].node == home ? 1 : 2
        pass(2 * Self.life + Self.grace, rigs)
        try look(rigs, 3 - index)
        #expect(!isOver(rigs))
        try look(rigs, index)
        #expect(isOver(rigs))
    }

    @Test func `not while another node has its reader`() throws {
        let (rigs, ledger) = try rigs()
        let session = try rigs[0].create("s", ledger)
        rigs.settle()
        let reader = try rigs.stream("s", at: 1)
        for _ in 0..<20 {
            pass(30_000, rigs)
            try look(rigs, 1)
            try look(rigs, 0)
        }
        #expect(!isOver(rigs))
        rigs[1].output.disconnect(reader)
        rigs.settle()
        rigs.cluster.journal.writeExpiries(at: rigs[1].clock.milliseconds)
        let left = rigs[1].clock.milliseconds
        #expect(try #require(rigs.cluster.journal.expiry(of: session.key)) >= left + Self.life)
        pass(2 * Self.life + Self.grace, rigs)
        try look(rigs, 0)
        #expect(isOver(rigs))
    }

    @Test func `a record of a node whose clock is behind makes it late, not early`() throws {
        let (rigs, ledger) = try rigs()
        for rig in rigs.rigs { rig.table.limits.sessionExpiry = .seconds(600) }
        let session = try rigs[0].create("s", ledger)
        rigs.settle()
        pass(250_000, rigs)
        rigs[0].clock.milliseconds -= 120_000
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs[0].clock.milliseconds += 120_000
        rigs.nodes[0].kill()
        rigs.beat(1)
        // The row has been due for the whole grace, and the use is less than ten minutes ago.
        pass(637_500 + Self.grace - 250_000, rigs)
        try look(rigs, 1)
        #expect(!isOver(rigs))
        pass(600_000, rigs)
        try look(rigs, 1)
        #expect(isOver(rigs))
    }
}
