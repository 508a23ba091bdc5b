import Cluster
import Clustering
@testable import Feeds
import Storage
import Testing

@testable import Sessions

@Suite(
    "ADR-0077 — the readers of a followed session stay where they are",
    .timeLimit(.minutes(60)))
struct SteadyReplicaTests: FollowedStreams {
    private func postAndDeliver(_ crowd: FollowedCrowd, _ body: String, times: Int = 1) throws {
        for _ in 0..<times {
            try crowd.post(body)
            deliver(crowd.links, crowd.rigs)
        }
    }

    // All of them came back each time.
    @Test func `an answer of the journal that is faster than the records moves nobody`() throws {
        let crowd = try spread()
        for number in 1...20 {
            try postAndDeliver(crowd, Post.both(number, number), times: 3)
            // The next question is due.
            crowd.rigs[1].clock.uptime += 1_000
            try crowd.post(Post.both(number, 0))
            crowd.rigs.look(at: 1)
            deliver(crowd.links, crowd.rigs)
        }
        #expect(crowd.rigs[1].table.clusterCounts.followed.questions >= 20)
        #expect(crowd.second.lags == 0)
        #expect(crowd.second.moves == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    @Test func `a client that comes before the newest record moves nobody`() throws {
        let crowd = try spread()
        var others: [UInt64] = []
        for number in 1...20 {
            try postAndDeliver(crowd, Post.both(number, number))
            try crowd.post(Post.both(number, 0))
            others.append(try crowd.rigs.stream("s", at: 1, .log))
            deliver(crowd.links, crowd.rigs)
        }
        #expect(crowd.second.lags == 0)
        #expect(crowd.rigs[1].table.count == 1)
        check(
            crowd.rigs[1], crowd.readers + others.map { (.log, $0) }, against: try crowd.truth)
    }

    // They moved after each small record, and came back for each large one.
    @Test func `large records move nobody`() throws {
        let crowd = try spread()
        let large = Post.say(String(repeating: "x", count: 70_000))
        for number in 1...20 {
            try postAndDeliver(crowd, large)
            try postAndDeliver(crowd, Post.both(number, number), times: 3)
        }
        #expect(crowd.second.lags == 0)
        #expect(crowd.second.moves == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }
}
