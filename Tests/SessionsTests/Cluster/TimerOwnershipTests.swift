import Cluster
import Clustering
import JSONCoding
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("In a cluster one node fires a timer", .timeLimit(.minutes(60)))
struct TimerOwnershipTests {
    private func rigs(_ count: Int = 2) throws -> (ClusterRig, Registration) {
        let registration = try Registration.of("alarm") { Alarm() }
        return (ClusterRig(count, [registration]), registration)
    }

    private func search(_ rigs: ClusterRig, _ index: Int) throws -> TimerSearch {
        let inbox = rigs[index].inbox
        let time = rigs[index].clock.milliseconds
        let hosted = [try Registration.of("alarm") { Alarm() }]
        let rules = try #require(WorkSearch(rigs.nodes[index], hosted) { _, done in done() })
        return TimerSearch(.actions, rules, now: { time }) { found, done in
            if !inbox.put({ $0.expectTimers(found, then: done) }) { done() }
        }
    }

    private func pass(_ milliseconds: Int64, _ rigs: ClusterRig, _ index: Int) {
        rigs[index].clock.milliseconds += milliseconds
        for _ in 0..<3 {
            rigs[index].table.fireTimers()
            rigs.settle()
        }
    }

    private func rung(_ rigs: ClusterRig) throws -> [Int] {
        rigs.cluster.journal.kept.filter { $0.kind == .mutation }.compactMap {
            guard
                case .rang(let ring)? = try? JSON.decode(
                    Alarm.Mutation.self, stored: $0.content)
            else { return nil }
            return ring
        }
    }

    @Test func `the owner fires it, and other nodes leave the session alone`() throws {
        let (rigs, registration) = try rigs()
        let session = try rigs[0].create("s", registration)
        rigs.settle()
        _ = try rigs.post(Post.alarm("a", after: 10, ring: 1), to: session, at: 0)
        rigs[1].clock.milliseconds += 1_000
        try search(rigs, 1).begin()
        rigs.settle()
        pass(0, rigs, 1)
        #expect(rigs.cluster.claims == 0)
        pass(10, rigs, 0)
        #expect(try rung(rigs) == [1])
    }

    @Test func `after the owner has ended, the home of the session fires it once`() throws {
        let (rigs, registration) = try rigs(3)
        for number in 0..<6 {
            let session = try rigs[0].create("s\(number)", registration)
            rigs.settle()
            let after = number < 3 ? 10 : 30_000
            _ = try rigs.post(Post.alarm("a", after: after, ring: number * 7), to: session, at: 0)
        }
        rigs.nodes[0].kill()
        for index in 1...2 {
            rigs.beat(index)
            rigs[index].clock.milliseconds += 10
            try search(rigs, index).begin()
            rigs.settle()
            pass(0, rigs, index)
        }
        #expect(try rung(rigs).sorted() == [0, 7, 14])
        for index in 1...2 { pass(30_000, rigs, index) }
        #expect(try rung(rigs).sorted() == [0, 7, 14, 21, 28, 35])
        let members = rigs.nodes[1].members
        for number in 0..<6 {
            #expect(rigs.cluster.owner(of: "s\(number)") == members.home(of: "s\(number)"))
        }
    }

    @Test func `a node that has lost the session fires nothing`() throws {
        let (rigs, registration) = try rigs()
        let session = try rigs[0].create("s", registration)
        rigs.settle()
        _ = try rigs.post(Post.alarm("a", after: 10, ring: 1), to: session, at: 0)
        // Another node takes it, but the first does not know that yet.
        rigs.expire(0)
        rigs.beat(1)
        _ = try rigs.wake("s", at: 1)
        pass(10, rigs, 1)
        pass(10, rigs, 0)
        pass(2_000, rigs, 0)
        #expect(try rung(rigs) == [1])
    }
}
