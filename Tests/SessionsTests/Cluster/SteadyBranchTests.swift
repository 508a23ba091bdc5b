import Cluster
@testable import Feeds
import Storage
import Testing

@testable import Sessions

@Suite(
    "ADR-0059 — the readers of a followed session do not move back and forth without end",
    .timeLimit(.minutes(15)))
struct SteadyBranchTests: FollowedStreams {
    private func postAndDeliver(_ crowd: FollowedCrowd, _ body: String, times: Int = 1) throws {
        for _ in 0..<times {
            try crowd.post(body)
            deliver(crowd.links, crowd.rigs)
        }
    }

    // All of them came back each time.
    @Test func `an answer of the journal that is faster than the records sends nobody back`() throws
    {
        let crowd = try spread()
        for number in 1...20 {
            try postAndDeliver(crowd, Post.both(number, number), times: 3)
            // The next question is due.
            crowd.rigs[1].clock.uptime += 1_000
            try crowd.post(Post.both(number, 0))
            crowd.rigs.look(at: 1)
            deliver(crowd.links, crowd.rigs)
        }
        #expect(crowd.rigs[1].table.counts.followed.questions >= 20)
        #expect(crowd.second.returns == 0)
        #expect(crowd.second.moves == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    // All of them came back for each client.
    @Test func `a client that comes before the newest record sends nobody back`() throws {
        let crowd = try spread()
        var others: [UInt64] = []
        for number in 1...20 {
            try postAndDeliver(crowd, Post.both(number, number))
            try crowd.post(Post.both(number, 0))
            others.append(try crowd.rigs.stream("s", at: 1, .log))
            if number.isMultiple(of: 2) { others.append(try crowd.rigs.stream("s", at: 1, .log)) }
            #expect(!crowd.rigs[1].output.isStreaming(others[others.count - 1]))
            deliver(crowd.links, crowd.rigs)
            #expect(crowd.rigs[1].output.isStreaming(others[others.count - 1]))
        }
        #expect(crowd.second.returns == 0)
        #expect(crowd.rigs[1].table.count == 1)
        check(
            crowd.rigs[1], crowd.readers + others.map { (.log, $0) }, against: try crowd.truth)
    }

    @Test(arguments: [false, true])
    func `it begins a quarter of a second later if that record does not come`(
        isClaimed: Bool
    ) throws {
        let crowd = try spread()
        try postAndDeliver(crowd, Post.set(1))
        try crowd.post(Post.set(2))
        crowd.links.loseAll()
        let token = try crowd.rigs.stream("s", at: 1)
        #expect(!crowd.rigs[1].output.isStreaming(token))
        if isClaimed {
            crowd.rigs.expire(0)
            let own = try crowd.rigs.wake("s", at: 1)
            _ = try crowd.rigs.post(Post.set(3), to: own, at: 1)
        }
        crowd.rigs.look(at: 1)
        check(
            crowd.rigs[1], crowd.readers + [(.allPulses, token)], against: try crowd.truth)
    }

    @Test func `what it has read is void if history is lost meanwhile`() throws {
        let crowd = try spread()
        try postAndDeliver(crowd, Post.set(1))
        try crowd.post(Post.set(2))
        crowd.links.loseAll()
        let token = try crowd.rigs.stream("s", at: 1)
        for (_, reader) in crowd.readers { crowd.rigs[1].output.disconnect(reader) }
        crowd.rigs.settle()
        try #require(crowd.rigs[1].table.count == 0)
        crowd.rigs.cluster.journal.loseHistory(1)
        crowd.rigs.settle()
        for _ in 0..<4 { crowd.rigs.look(at: 1) }
        let snapshot = try #require(crowd.rigs[1].transcript(token).events.first)
        #expect(snapshot.name == "snapshot")
        let generation = try crowd.rigs.stream("s", at: 1)
        let other = try #require(crowd.rigs[1].transcript(generation).events.first)
        #expect(snapshot.id == other.id)
    }

    @Test func `records that do not come are read in the journal at the next answer`() throws {
        let crowd = try spread()
        try postAndDeliver(crowd, Post.set(1))
        try crowd.post(Post.set(2))
        crowd.links.loseAll()
        for _ in 0..<4 { crowd.rigs.look(at: 1) }
        #expect(crowd.second.returns == 0)
        crowd.rigs.look(at: 1)
        #expect(crowd.second.returns == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    // The owner says so of a large record: there is nothing to wait for.
    @Test func `a record that only the journal has is read at once`() throws {
        let crowd = try spread()
        try postAndDeliver(crowd, Post.say(String(repeating: "x", count: 70_000)))
        #expect(crowd.second.returns == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    // They moved after each small record, and came back for each large one.
    @Test func `readers of large records stay on the loop of the session`() throws {
        let crowd = try spread()
        let large = Post.say(String(repeating: "x", count: 70_000))
        for number in 1...20 {
            try postAndDeliver(crowd, large)
            try postAndDeliver(crowd, Post.both(number, number), times: 3)
        }
        #expect(crowd.second.returns == 3)
        #expect(crowd.second.moves == 3)
        // A client that comes moves nobody either.
        for _ in 0..<3 {
            _ = try crowd.rigs.stream("s", at: 1)
            try postAndDeliver(crowd, large)
        }
        #expect(crowd.second.moves == 3)
        try postAndDeliver(crowd, Post.touch, times: 20)
        #expect(crowd.second.moves > 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }
}
