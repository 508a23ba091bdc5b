import Cluster
import Clustering
import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("In a cluster no session expires early", .timeLimit(.minutes(60)))
struct EarlyExpiryTests {
    private static let life: Int64 = 600_000
    private static let row = life + life / 16
    private static let grace: Int64 = 150_000

    private func rigs(_ count: Int = 2) throws -> (ClusterRig, Registration) {
        try ClusterRig.ofExpiringLedgers(count, life: Self.life)
    }

    private func search(_ rigs: ClusterRig, _ index: Int) throws -> TimerSearch {
        let (inbox, node) = (rigs[index].inbox, rigs.nodes[index])
        let time = node.clock(rigs[index].clock.milliseconds).lowerBound
        let hosted = [try Registration.ledger()]
        let rules = try #require(WorkSearch(node, hosted) { _, done in done() })
        return TimerSearch(.expiries, rules, now: { time }) { found, done in
            if !inbox.put({ $0.expiry.examine(found, then: done) }) { done() }
        }
    }

    private func write(_ rigs: ClusterRig) {
        let node = rigs.nodes[0]
        rigs.cluster.journal.writeExpiries(
            at: node.clock(rigs[0].clock.milliseconds).lowerBound)
    }

    private func look(_ rigs: ClusterRig, _ index: Int) throws {
        try search(rigs, index).begin()
        rigs.settle()
        write(rigs)
    }

    private func pass(_ milliseconds: Int64, _ rigs: ClusterRig) {
        for rig in rigs.rigs {
            rig.clock.milliseconds += milliseconds
            rig.table.expiry.postponeRead()
        }
        write(rigs)
    }

    private func set(_ index: Int, ahead milliseconds: Int64, _ rigs: ClusterRig) {
        rigs[index].clock.milliseconds += milliseconds
        rigs.nodes[index].setClockAhead(milliseconds)
    }

    private func isOver(_ rigs: ClusterRig) -> Bool {
        rigs.cluster.journal.all.last?.kind == .deleted
    }

    /// A session of node 0, which is used `unused` before node 1 examines it.
    private func examine(
        unused: Int64, writerAhead: Int64 = 0, examinerAhead: Int64
    ) throws -> Bool {
        let (rigs, ledger) = try rigs()
        let session = try rigs[0].create("s", ledger)
        rigs.settle()
        pass(Self.row + Self.grace - unused, rigs)
        set(0, ahead: writerAhead, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[0].kill()
        rigs.beat(1)
        pass(unused, rigs)
        set(1, ahead: examinerAhead, rigs)
        try look(rigs, 1)
        return isOver(rigs)
    }

    @Test func `by a node whose clock is hours ahead, and which is not ready`() throws {
        #expect(try !examine(unused: 60_000, examinerAhead: 7_200_000))
    }

    @Test func `by ready nodes whose clocks are wrong in opposite directions`() throws {
        #expect(try !examine(unused: 500_000, writerAhead: -119_000, examinerAhead: 119_000))
    }

    @Test func `with a reader at a node that has no time for the reactor, or not yet`() throws {
        let (rigs, ledger) = try rigs()
        rigs[1].table.limits.sessionExpiry = nil
        _ = try rigs[0].create("s", ledger)
        rigs.settle()
        _ = try rigs.stream("s", at: 1)
        for _ in 0..<60 {
            pass(30_000, rigs)
            try look(rigs, 1)
            try look(rigs, 0)
        }
        #expect(!isOver(rigs))
    }

    @Test func `with a reader at a node whose first search is ten minutes after its start`() throws
    {
        let (rigs, ledger) = try rigs()
        for rig in rigs.rigs { rig.table.limits.sessionExpiry = .seconds(60) }
        _ = try rigs[0].create("s", ledger)
        rigs.settle()
        pass(30_000, rigs)
        _ = try rigs.stream("s", at: 1)
        write(rigs)
        for second in stride(from: 0, to: 1_200, by: 30) {
            pass(30_000, rigs)
            // ``WorkSearch/firstPause``, after a reactor's code has ended the last process.
            if second >= 600 { try look(rigs, 1) }
            try look(rigs, 0)
        }
        #expect(!isOver(rigs))
    }

    @Test func `with a reader at a node whose search waits for a load`() throws {
        let (rigs, ledger) = try rigs(3)
        // Unused sessions of a node that has ended, which node 1 has to load.
        for index in 0..<20 { _ = try rigs[2].create("x\(index)", ledger) }
        rigs.settle()
        rigs.nodes[2].kill()
        for index in 0...1 { rigs.beat(index) }
        pass(1_000, rigs)
        _ = try rigs[0].create("s", ledger)
        rigs.settle()
        _ = try rigs.stream("s", at: 1)
        write(rigs)
        pass(Self.row, rigs)
        pass(Self.grace - 2_000, rigs)
        // The page is read, and the load is not answered.
        let slow = try search(rigs, 1)
        rigs.nodes[1].setImmediate(false)
        slow.begin()
        for _ in 0..<40 where rigs.nodes[1].nextKind == .read && rigs.nodes[1].waitingCount == 1 {
            rigs.nodes[1].carryOut(0)
            rigs.nodes[1].deliver(0)
            rigs.run()
        }
        for _ in 0..<10 {
            pass(30_000, rigs)
            slow.begin()
            try search(rigs, 0).begin()
            rigs.run()
            write(rigs)
        }
        let ended = rigs.cluster.journal.all.filter { $0.kind == .deleted }.map(\.session)
        #expect(!ended.contains("s"))
    }

    @Test func `with a reader whose row was written before the session was loaded`() throws {
        let (rigs, ledger) = try rigs(3)
        _ = try rigs[2].create("s", ledger)
        rigs.settle()
        rigs.nodes[2].kill()
        for index in 0...1 { rigs.beat(index) }
        let home = rigs.nodes[0].members.home(of: "s") == rigs.nodes[0].node ? 0 : 1
        let other = 1 - home
        pass(Self.row + Self.grace, rigs)
        rigs.nodes[home].setImmediate(false)
        try search(rigs, home).begin()
        rigs.nodes[home].carryOut(0)
        rigs.nodes[home].deliver(0)
        rigs.run()
        let token = try rigs.request("s", at: other)
        rigs.run()
        _ = token
        write(rigs)
        let key = try #require(rigs.cluster.journal.loaded("s")).key
        let due = try #require(rigs.cluster.journal.expiry(of: key))
        try #require(due > rigs[home].clock.milliseconds + Self.life - 1, "the row is written")
        rigs.nodes[home].settle()
        rigs.settle()
        #expect(!isOver(rigs))
    }
}
