import Cluster
import Clustering
@testable import Feeds
import Storage
import Testing

@testable import Sessions

@Suite(
    "ADR-0077 — a node that follows a session spreads its readers", .timeLimit(.minutes(60)))
struct FollowedReplicaTests: FollowedStreams {
    private func post(_ crowd: FollowedCrowd) throws {
        for body in Self.bodies {
            _ = try crowd.rigs.post(body, to: crowd.session, at: 0)
            deliver(crowd.links, crowd.rigs)
        }
    }

    // They stayed on one loop of the node.
    @Test func `half of the readers are on another loop, and get the same events`() throws {
        let crowd = try spread()
        let there = Self.shared.map { crowd.rigs[0].subscribe(crowd.session, $0) }
        try #require(crowd.second.table.feeds.replicas.count == 3)
        let reads = crowd.rigs.nodes[1].counts[.read] ?? 0
        try post(crowd)
        #expect(crowd.second.lags == 0)
        #expect(crowd.rigs.nodes[1].counts[.read] ?? 0 == reads)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
        for (token, pair) in zip(there, stride(from: 0, to: 6, by: 2)) {
            for (_, here) in crowd.readers[pair..<pair + 2] {
                #expect(crowd.rigs[1].lines(here) == crowd.rigs[0].lines(token))
            }
        }
    }

    @Test func `readers of states continue when their node owns the session`() throws {
        let crowd = try spread([.allStates, .everything, .part("/name")])
        for _ in 0..<3 { try post(crowd) }
        #expect(crowd.second.table.feeds.replicas.count == 3)
        crowd.rigs.look(at: 1)
        try post(crowd)
        crowd.rigs.expire(0)
        let own = try crowd.rigs.wake("s", at: 1)
        _ = try crowd.rigs.post(Post.set(1), to: own, at: 1)
        #expect(crowd.second.table.feeds.replicas.count == 3)
        #expect(crowd.second.lags == 0)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    @Test func `readers of states stay where they are when there is no room for the state`() throws
    {
        let crowd = try spread([.allStates, .part("/name")])
        for _ in 0..<3 { try post(crowd) }
        crowd.rigs[1].table.feeds.subscribers.stateLimit = 0
        for _ in 0..<3 { try post(crowd) }
        #expect(crowd.second.lags == 0)
        #expect(crowd.second.table.feeds.replicas.count == 2)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    // Each of them came back to the loop of the session, and read the journal for itself.
    @Test func `a gap is filled once for all readers of a loop`() throws {
        let crowd = try spread()
        _ = try crowd.rigs.post(Post.both(1, 1), to: crowd.session, at: 0)
        crowd.links.loseAll()
        _ = try crowd.rigs.post(Post.both(2, 2), to: crowd.session, at: 0)
        deliver(crowd.links, crowd.rigs)
        try post(crowd)
        #expect(crowd.second.lags == 0)
        #expect(crowd.second.moves == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    @Test func `a slow one gets what it lacks from the journal`() throws {
        let crowd = try spread([.allActivities])
        for (_, token) in crowd.readers { crowd.rigs[1].output.setCapacity(60, of: token) }
        let text = String(repeating: "x", count: 20_000)
        for _ in 0..<40 {
            _ = try crowd.rigs.post(Post.say(text), to: crowd.session, at: 0)
            deliver(crowd.links, crowd.rigs)
            crowd.rigs.look(at: 1)
        }
        for (_, token) in crowd.readers { crowd.rigs[1].output.setCapacity(nil, of: token) }
        crowd.rigs.settle()
        #expect(crowd.second.lags == 1)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    @Test func `a node that claims the session keeps those on both loops`() throws {
        let crowd = try spread()
        try post(crowd)
        crowd.rigs.expire(0)
        let own = try crowd.rigs.wake("s", at: 1)
        for body in Self.bodies { _ = try crowd.rigs.post(body, to: own, at: 1) }
        #expect(crowd.second.lags == 0)
        #expect(crowd.second.table.feeds.replicas.count == 3)
        check(crowd.rigs[1], crowd.readers, against: try crowd.truth)
    }

    @Test func `a node that has lost the session follows the next owner with those on both loops`()
        throws
    {
        let (rigs, links, session) = try linked(sendingRecords: true, replicasFrom: 1)
        let readers = Self.shared.flatMap { [$0, $0] }.map { ($0, rigs[0].subscribe(session, $0)) }
        rigs.settle()
        let second = try #require(rigs[0].second)
        try #require(second.table.feeds.replicas.count == 3)
        rigs.cluster.setOwner(rigs.nodes[1].node, of: "s")
        let next = try rigs.wake("s", at: 1)
        // The owner notices that it is none.
        #expect(try rigs.post(Post.set(9), to: session, at: 0).hasPrefix("failed"))
        for _ in 0..<4 { rigs.look(at: 0) }
        deliver(links, rigs)
        for body in Self.bodies {
            _ = try rigs.post(body, to: next, at: 1)
            deliver(links, rigs)
        }
        #expect(rigs[0].table.clusterCounts.followed.received > 5)
        #expect(second.lags == 0)
        check(rigs[0], readers, against: try Truth(rigs.cluster.journal.all, of: next))
    }

    @Test func `all of them get the last events and the end`() throws {
        let crowd = try spread()
        try post(crowd)
        _ = try crowd.rigs.post(Post.both(1, 1), to: crowd.session, at: 0)
        crowd.links.loseAll()
        _ = crowd.rigs[0].end(crowd.session)
        crowd.rigs.settle()
        for _ in 0..<4 { crowd.rigs.look(at: 1) }
        let lines = crowd.readers.map { crowd.rigs[1].lines($0.1) }
        for (index, (selection, token)) in crowd.readers.enumerated() {
            let names = names(crowd.rigs[1], token)
            #expect(names.last == "end", "\(selection)")
            #expect(!names.contains("reset"))
            #expect(lines[index] == lines[index ^ 1])
        }
        #expect(crowd.rigs[1].table.count == 0)
        #expect(crowd.second.table.subscriberCount == 0)
    }

    // Those on the other loop got the end alone.
    @Test func `an end whose last events are gone is no silent one on any loop`() throws {
        let crowd = try spread()
        try post(crowd)
        _ = try crowd.rigs.post(Post.both(1, 1), to: crowd.session, at: 0)
        crowd.links.loseAll()
        _ = crowd.rigs[0].end(crowd.session)
        crowd.rigs.settle()
        crowd.links.loseAll()
        crowd.rigs.cluster.forgetEnded()
        for _ in 0..<4 { crowd.rigs.look(at: 1) }
        for (selection, token) in crowd.readers {
            let events = crowd.rigs[1].transcript(token).events
            #expect(events.suffix(2).map(\.name) == ["reset", "end"], "\(selection)")
            #expect(!crowd.rigs[1].output.isStreaming(token))
        }
        #expect(crowd.rigs[1].table.count == 0)
        #expect(crowd.second.table.subscriberCount == 0)
    }

    @Test func `after a loss of history all of them are reset`() throws {
        let crowd = try spread()
        _ = try crowd.rigs.post(Post.both(1, 1), to: crowd.session, at: 0)
        deliver(crowd.links, crowd.rigs)
        crowd.rigs.cluster.journal.loseHistory(0)
        crowd.rigs.settle()
        for _ in 0..<4 { crowd.rigs.look(at: 1) }
        for (selection, token) in crowd.readers {
            let events = crowd.rigs[1].transcript(token).events
            let reset = try #require(events.first { $0.name == "reset" }, "\(selection)")
            #expect(reset.data.contains("generation"))
            #expect(crowd.rigs[1].output.isStreaming(token))
        }
    }

    @Test func `without an answer of the journal all of them are closed`() throws {
        let crowd = try spread()
        crowd.rigs.nodes[1].setImmediate(false)
        for _ in 0..<60 {
            crowd.rigs[1].clock.uptime += 250
            crowd.rigs[1].table.askForChanges()
            crowd.rigs.run()
        }
        for (_, token) in crowd.readers { #expect(!crowd.rigs[1].output.isStreaming(token)) }
        #expect(crowd.rigs[1].table.clusterCounts.followed.unconfirmed == 6)
        #expect(crowd.second.table.subscriberCount == 0)
        #expect(crowd.rigs[1].table.count == 0)
    }

    @Test func `the last one that leaves on another loop ends the following`() throws {
        let crowd = try spread([.allPulses])
        for (_, token) in crowd.readers.reversed() { crowd.rigs[1].output.disconnect(token) }
        crowd.rigs.settle()
        #expect(crowd.rigs[1].table.count == 0)
        #expect(crowd.rigs[1].table.clusterCounts.followed.sessions == 0)
    }
}
