import Cluster
import Storage
import Testing

@testable import Clustering
@testable import Feeds
@testable import Sessions

@Suite("ADR-0052 — a session's owner says when it has new records", .timeLimit(.minutes(60)))
struct HintTests: FollowedStreams {
    /// Opens a stream at a node, which gets hints for it.
    private func follow(
        _ links: ScriptedLinks, _ rigs: ClusterRig, _ id: String = "s", at index: Int = 1
    ) throws -> UInt64 {
        let token = try rigs.stream(id, at: index)
        deliver(links, rigs)
        return token
    }

    private func questions(_ rigs: ClusterRig, at index: Int = 1) -> Int {
        rigs.nodes[index].counts[.follow] ?? 0
    }

    @Test func `an event comes with the owner's hint, and not with the next quarter`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        #expect(questions(rigs) == 0, "the first hint names the position that was loaded")
        #expect(rigs[1].table.clusterCounts.followed.hinted == 1)
        for number in 1...3 {
            _ = try rigs.post(Post.set(number), to: session, at: 0)
            #expect(rigs[1].lines(token).count == number)
            deliver(links, rigs)
            #expect(rigs[1].lines(token).count == number + 1)
            #expect(questions(rigs) == number)
        }
        #expect(rigs[1].lines(token).last == "a 3 3")
        #expect(rigs.nodes[1].counts[.claim] == nil)
    }

    @Test func `what was committed before the owner heard of the follower is asked for`() throws {
        let (rigs, links, session) = try linked()
        let token = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        deliver(links, rigs)
        #expect(names(rigs[1], token) == ["snapshot", "a"])
    }

    @Test func `with hints there is a question a second, which finds what no hint has said`() throws
    {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        for _ in 0..<3 { rigs.look(at: 1) }
        #expect(questions(rigs) == 0)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        links.loseAll()
        rigs.look(at: 1)
        #expect(questions(rigs) == 1)
        #expect(names(rigs[1], token) == ["snapshot", "a"])
        for _ in 0..<4 { rigs.look(at: 1) }
        #expect(questions(rigs) == 2)
    }

    @Test func `hints that come during a question are one question`() throws {
        let (rigs, links, session) = try linked()
        var sessions = [session]
        for number in 0..<4 { sessions.append(try rigs[0].create("s\(number)", .ledger())) }
        rigs.settle()
        let tokens = try sessions.map { try follow(links, rigs, $0.id.text) }
        rigs.nodes[1].setImmediate(false)
        for session in sessions {
            _ = try rigs[0].act(Post.set(1), on: session)
            rigs.run()
            while links.count > 0 { links.deliver(0) }
            rigs.run()
        }
        #expect(questions(rigs) == 1)
        #expect(rigs.nodes[1].waitingCount == 1)
        rigs.nodes[1].carryOut(0)
        rigs.nodes[1].deliver(0)
        rigs.run()
        #expect(questions(rigs) == 2)
        rigs.settle()
        #expect(questions(rigs) == 2)
        for token in tokens { #expect(names(rigs[1], token) == ["snapshot", "a"]) }
    }

    // Without the memory of hints the next question would be one second later.
    @Test func `a question that fails is repeated with the next quarter`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        rigs.nodes[1].setImmediate(false)
        _ = try rigs[0].act(Post.set(1), on: session)
        rigs.run()
        while links.count > 0 { links.deliver(0) }
        rigs.run()
        rigs.nodes[1].carryOut(0, failing: .unavailable)
        rigs.nodes[1].deliver(0)
        rigs.run()
        #expect(rigs.nodes[1].waitingCount == 0, "not as fast as the journal fails")
        rigs.look(at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "a"])
        rigs.look(at: 1)
        #expect(questions(rigs) == 2)
    }

    // MARK: Hints that are none

    @Test func `a hint of what is known asks nothing`() throws {
        let (rigs, links, session) = try linked()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let token = try follow(links, rigs)
        let end = session.committedEnd
        for position in [end.position, HistoryPosition(0), HistoryPosition(1, part: 1)] {
            rigs[1].table.hint(session.id, at: CommittedEnd(end.generation, position))
            rigs.settle()
        }
        #expect(questions(rigs) == 0)
        #expect(names(rigs[1], token) == ["snapshot"])
    }

    @Test func `a false hint is a question and nothing more`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        let generation = session.generation.text
        let ends = [
            CommittedEnd("zzzzzzzz", HistoryPosition(5)),
            CommittedEnd(generation, HistoryPosition(.max)),
            CommittedEnd(generation, HistoryPosition(1, part: .max)),
            CommittedEnd("", HistoryPosition(0)),
        ]
        for (index, end) in ends.enumerated() {
            rigs[1].table.hint(session.id, at: end)
            rigs.settle()
            #expect(questions(rigs) == index + 1)
        }
        rigs[1].table.hint(try #require(SessionID("other")), at: ends[0])
        rigs.settle()
        #expect(questions(rigs) == ends.count)
        #expect(names(rigs[1], token) == ["snapshot"])
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        deliver(links, rigs)
        #expect(names(rigs[1], token) == ["snapshot", "a"])
    }

    @Test func `a hint that comes after a claim changes nothing`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        deliver(links, rigs)
        _ = try rigs.post(Post.set(2), to: own, at: 1)
        deliver(links, rigs)
        #expect(names(rigs[1], token) == ["snapshot", "a", "a"])
        #expect(questions(rigs) == 0 && own.isRunning)
    }

    // MARK: The owner

    @Test func `an owner that gives its session up says so, and the quarter is asked again`() throws
    {
        let (rigs, links, _) = try linked()
        let token = try follow(links, rigs)
        for _ in 0..<6 {
            rigs[0].table.tick()
            rigs.settle()
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        deliver(links, rigs)
        #expect(questions(rigs) == 1, "at once")
        #expect(rigs[1].table.clusterCounts.followed.hinted == 0)
        rigs.look(at: 1)
        #expect(questions(rigs) == 2)
        let session = try rigs.wake("s", at: 0)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        #expect(links.count == 0, "nobody is known to follow")
        rigs.look(at: 1)
        deliver(links, rigs)
        #expect(rigs[1].table.clusterCounts.followed.hinted == 1)
        _ = try rigs.post(Post.set(2), to: session, at: 0)
        deliver(links, rigs)
        #expect(names(rigs[1], token) == ["snapshot", "a", "a"])
    }

    @Test func `the next owner is asked for hints, and not the one before`() throws {
        let (rigs, links, _) = try linked(3)
        let token = try follow(links, rigs, at: 2)
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        for _ in 0..<4 { rigs.look(at: 2) }
        deliver(links, rigs)
        _ = try rigs.post(Post.set(1), to: next, at: 1)
        deliver(links, rigs)
        #expect(names(rigs[2], token) == ["snapshot", "a"])
        #expect(rigs[2].table.clusterCounts.followed.hinted == 1)
    }

    @Test func `what a deposed owner decides is no event`() throws {
        let (rigs, links, session) = try linked(3)
        let token = try follow(links, rigs, at: 2)
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        // It does not know it yet.
        let refused = try rigs.post(Post.set(9), to: session, at: 0)
        #expect(refused.hasPrefix("failed"))
        deliver(links, rigs)
        _ = try rigs.post(Post.set(1), to: next, at: 1)
        for _ in 0..<4 { rigs.look(at: 2) }
        deliver(links, rigs)
        #expect(rigs[2].lines(token).dropFirst() == ["a 1 1"])
    }

    @Test func `an end and a new generation come with hints`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        _ = rigs[0].end(session)
        rigs.settle()
        let again = try rigs[0].create("s", .ledger())
        rigs.settle()
        deliver(links, rigs)
        _ = try rigs.post(Post.set(7), to: again, at: 0)
        deliver(links, rigs)
        let events = rigs[1].transcript(token).events
        #expect(events.map(\.name).suffix(3) == ["reset", "snapshot", "a"])
        #expect(rigs[1].table.clusterCounts.followed.hinted == 1)
    }

    @Test func `an end comes with the owner's word`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        _ = rigs[0].end(session)
        rigs.settle()
        deliver(links, rigs)
        #expect(names(rigs[1], token) == ["snapshot", "a", "end"])
        #expect(rigs[1].table.count == 0)
    }

    // MARK: Links

    @Test func `without a link the quarter is asked, and the owner again after a second`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        links.breakLinks(to: rigs.nodes[0].node)
        rigs.run()
        #expect(questions(rigs) == 1, "what the link may have lost")
        #expect(rigs[1].table.clusterCounts.followed.hinted == 0)
        for number in 1...3 {
            _ = try rigs.post(Post.set(number), to: session, at: 0)
            rigs.look(at: 1)
            #expect(questions(rigs) == number + 1)
            #expect(links.count == 0)
        }
        rigs.look(at: 1)
        #expect(links.count == 1)
        deliver(links, rigs)
        _ = try rigs.post(Post.set(4), to: session, at: 0)
        deliver(links, rigs)
        #expect(rigs[1].lines(token).count == 5)
    }

    @Test func `the last subscriber ends the hints`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        rigs[1].output.disconnect(token)
        #expect(links.count == 1)
        deliver(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        #expect(links.count == 0)
    }

    @Test func `a stream that does not begin leaves no wish`() throws {
        let (rigs, links, _) = try linked()
        let token = try rigs.request("s", at: 1)
        rigs[1].output.lose(token)
        rigs.settle()
        deliver(links, rigs)
        #expect(rigs[1].table.clusterCounts.followed == FollowCounts())
    }
}
