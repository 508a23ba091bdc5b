import Cluster
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "ADR-0077 — the readers on other loops when the session's owner changes",
    .timeLimit(.minutes(60)))
struct CarriedReplicaTests: FollowedStreams {
    private typealias Streams = [(Selection, UInt64)]

    /// Two nodes with two loops each; the first owns the session.
    private func spread() throws -> (ClusterRig, Session) {
        let rigs = ClusterRig(2, [try .ledger()], replicasFrom: 1)
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        return (rigs, session)
    }

    private func second(_ rigs: ClusterRig, _ index: Int) throws -> SecondLoop {
        try #require(rigs[index].second)
    }

    /// Of each selection one reader for each loop.
    private func streams(_ rigs: ClusterRig, _ session: Session) throws -> Streams {
        let all = try Self.selections().flatMap { [$0, $0] }.map {
            ($0, rigs[0].subscribe(session, $0))
        }
        rigs.settle()
        try #require(try second(rigs, 0).table.feeds.replicas.count == all.count / 2)
        return all
    }

    /// The other node takes the session, and continues it.
    private func takeOver(_ rigs: ClusterRig) throws -> Session {
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        for body in Self.bodies { _ = try rigs.post(body, to: next, at: 1) }
        return next
    }

    @Test func `those of an owner that was deposed follow the next one`() throws {
        let (rigs, session) = try spread()
        let streams = try streams(rigs, session)
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        let next = try takeOver(rigs)
        rigs.beat(0)
        rigs.settle()
        rigs.look(at: 0)
        #expect(try second(rigs, 0).table.subscriberCount == streams.count / 2)
        #expect(try second(rigs, 0).lags == 0)
        check(rigs[0], streams, against: try Truth(rigs.cluster.journal.all, of: next))
    }

    // Their connections ended, and the clients that connected again got 204 and none of
    // the last events.
    @Test func `they get the last events and the end of a session that has ended elsewhere`() throws
    {
        let (rigs, session) = try spread()
        let streams = try streams(rigs, session)
        let next = try takeOver(rigs)
        _ = rigs[1].end(next)
        rigs.settle()
        rigs.beat(0)
        rigs.settle()
        rigs.look(at: 0)
        for (selection, token) in streams {
            #expect(names(rigs[0], token).last == "end", "\(selection)")
            #expect(!names(rigs[0], token).contains("reset"))
        }
        let bytes = Dictionary(grouping: streams) { "\($0.0)" }.values.map { pair in
            Set(pair.map { rigs[0].output.bytes(of: $0.1) }).count
        }
        #expect(bytes.allSatisfy { $0 == 1 })
        #expect(rigs[0].table.count == 0)
        #expect(try second(rigs, 0).table.subscriberCount == 0)
    }

    /// It accepts the rest of an event when the end has come to all others.
    @Test func `a slow one gets them as well`() throws {
        let (rigs, session) = try spread()
        let streams = try streams(rigs, session)
        for (_, token) in streams { rigs[0].output.setCapacity(7, of: token) }
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        let next = try takeOver(rigs)
        rigs.beat(0)
        rigs.settle()
        _ = rigs[1].end(next)
        rigs.settle()
        for _ in 0..<4 { rigs.look(at: 0) }
        for (_, token) in streams { rigs[0].output.setCapacity(nil, of: token) }
        rigs.settle()
        for _ in 0..<4 { rigs.look(at: 0) }
        for (selection, token) in streams {
            #expect(names(rigs[0], token).last == "end", "\(selection)")
            #expect(!names(rigs[0], token).contains("reset"), "\(selection)")
        }
        #expect(rigs[0].table.count == 0)
        #expect(try second(rigs, 0).table.subscriberCount == 0)
    }

    // They stayed on one loop until another client connected.
    @Test func `the subscribers of a session that this node has claimed are spread`() throws {
        let (rigs, _) = try spread()
        let readers = try (0..<6).map { _ in try rigs.stream("s", at: 1, .allStates) }
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        _ = try rigs.post(Post.set(1), to: next, at: 1)
        #expect(try second(rigs, 1).table.feeds.replicas.count == 3)
        for reader in readers { #expect(names(rigs[1], reader) == ["snapshot", "state"]) }
    }
}
