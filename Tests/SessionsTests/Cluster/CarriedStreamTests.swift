import Cluster
import Storage
import Testing

@testable import Clustering
@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0051 — the streams of an owner that loses its session continue", .timeLimit(.minutes(60)))
struct CarriedStreamTests: FollowedStreams {
    private typealias Streams = [(Selection, UInt64)]

    /// Streams at the owner, some of them of readers that are slow.
    private func streams(_ rigs: ClusterRig, _ session: Session) throws -> (Streams, slow: Streams)
    {
        let all = try Self.selections()
        return (
            all.map { ($0, rigs[0].subscribe(session, $0)) },
            all.map { ($0, rigs[0].subscribe(session, $0, capacity: 90)) }
        )
    }

    /// The other node takes the session, and continues it.
    private func takeOver(_ rigs: ClusterRig, by index: Int = 1) throws -> Session {
        rigs.expire(1 - index)
        let next = try rigs.wake("s", at: index)
        for body in Self.bodies { _ = try rigs.post(body, to: next, at: index) }
        return next
    }

    private func check(
        _ rigs: ClusterRig, _ session: Session, _ streams: (Streams, slow: Streams)
    ) throws {
        for (_, token) in streams.slow { rigs[0].output.setCapacity(nil, of: token) }
        rigs.look(at: 0)
        let truth = try Truth(rigs.cluster.journal.all, of: session)
        #expect(truth.isGapless)
        check(rigs[0], streams.0 + streams.slow, against: truth)
    }

    // They were disconnected.
    @Test func `the subscribers of an owner that was deposed follow the next one`() throws {
        let (rigs, session) = try two()
        let streams = try streams(rigs, session)
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        let next = try takeOver(rigs)
        rigs.beat(0)
        #expect(rigs[0].table.clusterCounts.followed.sessions == 1)
        #expect(rigs[0].table.awakeCount == 0)
        try check(rigs, next, streams)
    }

    /// The owner hears of it from a commit that is refused.
    @Test func `a refused commit shows nothing of what was refused`() throws {
        let (rigs, session) = try two()
        let streams = try streams(rigs, session)
        _ = try rigs.post(Post.both(1, 2), to: session, at: 0)
        let next = try takeOver(rigs)
        #expect(try rigs.post(Post.set(77), to: session, at: 0).hasPrefix("failed moved"))
        try check(rigs, next, streams)
    }

    /// Nobody knows yet whether its last commit is in the journal.
    @Test(arguments: [false, true])
    func `a commit whose outcome is unknown is shown once, or not at all`(isWritten: Bool) throws {
        let (rigs, session) = try two()
        let streams = try streams(rigs, session)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[0].setImmediate(false)
        let sent = try rigs[0].act(Post.both(5, 6), on: session)
        if isWritten { rigs.nodes[0].carryOut(0) }
        rigs.expire(0)
        var found: SessionLookup?
        rigs[1].table.wake(session.id) { found = $0 }
        rigs[1].drainInbox()
        guard case .session(let next)? = found else { throw Rig.NoSession(id: "s") }
        rigs.beat(0)
        #expect(rigs[0].line(sent).hasPrefix("failed outcomeUnknown"))
        rigs.settle()
        for body in Self.bodies { _ = try rigs.post(body, to: next, at: 1) }
        try check(rigs, next, streams)
    }

    @Test func `a subscriber that was reading the journal continues there`() throws {
        let (rigs, session) = try two()
        let start = session.position.text
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        for _ in 0..<12 {
            rigs[0].table.tick()
            rigs.settle()
        }
        let own = try rigs.wake("s", at: 0)
        rigs.nodes[0].setImmediate(false)
        let tokens = try Self.selections().map {
            ($0, rigs[0].subscribe(own, $0, .after(start)))
        }
        rigs.run()
        #expect(rigs.nodes[0].waiting(.read) > 0)
        let next = try { () throws -> Session in
            rigs.expire(0)
            var found: SessionLookup?
            rigs[1].table.wake(own.id) { found = $0 }
            rigs[1].drainInbox()
            guard case .session(let next)? = found else { throw Rig.NoSession(id: "s") }
            return next
        }()
        rigs.beat(0)
        rigs.settle()
        _ = try rigs.post(Post.both(8, 9), to: next, at: 1)
        rigs.look(at: 0)
        let truth = try Truth(rigs.cluster.journal.all, of: next)
        for (selection, token) in tokens {
            var reader = Reader(selection)
            reader.add(connection: token, after: start)
            reader.check(rigs[0], against: truth, "\(selection)", mayReset: false)
            #expect(rigs[0].output.isStreaming(token))
        }
    }

    @Test func `a failed commit leaves the streams to the next owner of the session`() throws {
        let (rigs, session) = try two()
        let streams = try streams(rigs, session)
        rigs.nodes[0].setImmediate(false)
        let post = try rigs[0].act(Post.set(1), on: session)
        rigs.nodes[0].carryOut(0, failing: .unavailable)
        rigs.settle()
        #expect(rigs[0].line(post).hasPrefix("failed"))
        #expect(rigs.cluster.owner(of: "s") == nil)
        let other = try rigs.wake("s", at: 1)
        for body in Self.bodies { _ = try rigs.post(body, to: other, at: 1) }
        rigs.look(at: 0)
        try check(rigs, other, streams)
    }

    @Test func `a node that was not heard continues its streams when it is heard again`() throws {
        let (rigs, session) = try two()
        let streams = try streams(rigs, session)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.expire(0)
        rigs.beat(0, joins: false)
        #expect(rigs[0].table.clusterCounts.followed.sessions == 1)
        for _ in 0..<3 { rigs.look(at: 0) }
        rigs.beat(0)
        let again = try rigs.wake("s", at: 0)
        for body in Self.bodies { _ = try rigs.post(body, to: again, at: 0) }
        #expect(rigs[0].table.clusterCounts.followed.sessions == 0)
        try check(rigs, again, streams)
    }

    // Without the number of the question its answer, of an earlier stay, would be believed.
    @Test func `an answer to a question from before is ignored`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        rigs.run()
        rigs.nodes[1].carryOut(0)
        // Owned for a moment while the answer is on its way.
        rigs.expire(0)
        rigs[1].table.wake(session.id) { _ in }
        rigs.run()
        rigs.nodes[1].carryOut(1)
        rigs.nodes[1].deliver(1)
        rigs.run()
        #expect(try rigs[1].session("s").isRunning)
        rigs.cluster.leave(rigs.nodes[1].node)
        rigs.beat(1, joins: false)
        let confirmed = rigs[1].table.asleep(session.id)?.archive?.following?.answered
        #expect(confirmed == 0)
        rigs.nodes[1].deliver(0)
        rigs.run()
        #expect(rigs[1].table.asleep(session.id)?.archive?.following?.answered == 0)
        #expect(rigs[1].output.isStreaming(token))
    }

    // Without the number of the load an earlier generation would replace the present one.
    @Test func `a load from before is ignored`() throws {
        let (rigs, session) = try two()
        rigs.nodes[1].setImmediate(false)
        _ = try rigs.request("s", at: 1)
        rigs.run()
        rigs.nodes[1].carryOut(0)
        _ = rigs[0].end(session)
        rigs.run()
        let next = try rigs[1].create("s", .ledger())
        rigs.run()
        rigs.nodes[1].carryOut(1)
        rigs.nodes[1].deliver(1)
        rigs.run()
        let token = rigs[1].subscribe(next)
        rigs.cluster.leave(rigs.nodes[1].node)
        rigs.beat(1, joins: false)
        #expect(rigs[1].table.clusterCounts.followed.sessions == 1)
        rigs.nodes[1].deliver(0)
        rigs.settle()
        #expect(rigs[1].table.asleep(next.id)?.generation == next.generation)
        #expect(names(rigs[1], token) == ["snapshot"])
    }

    @Test func `a deposed owner without subscribers keeps nothing`() throws {
        let (rigs, session) = try two()
        let token = rigs[0].subscribe(session)
        rigs[0].output.disconnect(token)
        _ = try takeOver(rigs)
        rigs.beat(0)
        #expect(rigs[0].table.count == 0)
        #expect(rigs[0].table.clusterCounts.followed.sessions == 0)
    }

    @Test func `the end comes to the subscribers of an owner that was deposed before`() throws {
        let (rigs, session) = try two()
        let streams = try streams(rigs, session)
        let next = try takeOver(rigs)
        _ = rigs[1].end(next)
        rigs.settle()
        rigs.beat(0)
        rigs.look(at: 0)
        for (_, token) in streams.slow { rigs[0].output.setCapacity(nil, of: token) }
        rigs.settle()
        for (_, token) in streams.0 + streams.slow {
            #expect(names(rigs[0], token).last == "end")
            #expect(!names(rigs[0], token).contains("reset"))
        }
        #expect(rigs[0].table.count == 0)
    }
}
