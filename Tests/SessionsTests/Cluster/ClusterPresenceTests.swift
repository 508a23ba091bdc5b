import Cluster
import Storage
import Testing

@testable import Clustering
@testable import Feeds
@testable import Sessions

@Suite("ADR-0090 — readers at several nodes see each other", .timeLimit(.minutes(60)))
struct ClusterPresenceTests: FollowedStreams {
    /// Opens a stream at a node.
    private func join(
        _ rigs: ClusterRig, _ links: ScriptedLinks, as name: ExactText?, at index: Int,
        on: Bool = true
    ) throws -> UInt64 {
        rigs[index].presence = { _ in ReaderPresence(name: name, getsEvents: on) }
        let token = try rigs.stream("s", at: index)
        deliver(links, rigs)
        return token
    }

    /// Lets time pass at all nodes, and delivers all messages.
    private func pass(
        _ rigs: ClusterRig, _ links: ScriptedLinks, _ milliseconds: Int64 = 1_000
    ) {
        for rig in rigs.rigs { rig.clock.uptime += milliseconds }
        for _ in 0..<3 {
            rigs.run()
            deliver(links, rigs)
            rigs.run()
        }
    }

    private func seen(_ rigs: ClusterRig, _ token: UInt64, at index: Int) -> String? {
        rigs[index].transcript(token).events.last { $0.name == "presence" }?.data
    }

    @Test func `names and others of all nodes are one set at each of them`() throws {
        let (rigs, links, _) = try linked(3)
        let ada = try join(rigs, links, as: "ada", at: 0)
        let bob = try join(rigs, links, as: "bob", at: 1)
        _ = try join(rigs, links, as: nil, at: 2, on: false)
        let cy = try join(rigs, links, as: "ada", at: 2)
        for _ in 0..<3 { pass(rigs, links) }
        let all = #"{"present":["ada","bob"],"others":1}"#
        #expect(seen(rigs, ada, at: 0) == all)
        #expect(seen(rigs, bob, at: 1) == all)
        #expect(seen(rigs, cy, at: 2) == all)
        let before = links.presencesSent
        #expect(before > 2)
        for _ in 0..<3 { pass(rigs, links) }
        #expect(links.presencesSent == before, "without a change nothing is sent")
    }

    @Test func `others count at a node where nobody asks for presence`() throws {
        let (rigs, links, session) = try linked(2)
        rigs[1].presence = { _ in nil }
        _ = try rigs.stream("s", at: 1)
        _ = try rigs.stream("s", at: 1)
        deliver(links, rigs)
        let ada = try join(rigs, links, as: "ada", at: 0)
        for _ in 0..<3 { pass(rigs, links) }
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada"],"others":2}"#)
        #expect(session.feed.present.others == 2)
    }

    @Test func `a reader leaves another node, and its name stays for its grace`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        let bob = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        rigs[1].output.disconnect(bob)
        pass(rigs, links)
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada","bob"],"others":0}"#)
        for _ in 0..<11 { pass(rigs, links) }
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada"],"others":0}"#)
    }

    @Test func `a node that is gone takes its names with it, after the grace`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        _ = try join(rigs, links, as: "bob", at: 1)
        _ = try join(rigs, links, as: nil, at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada","bob"],"others":1}"#)
        links.remove(rigs.nodes[1].node)
        pass(rigs, links)
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada","bob"],"others":0}"#)
        pass(rigs, links, 10_000)
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada"],"others":0}"#)
    }

    // Nodes know of each other's readers through the owner, and there was none.
    @Test func `readers of a session that no node owns see each other`() throws {
        let (rigs, links, _) = try linked(3)
        for _ in 0..<6 {
            rigs[0].table.tick()
            rigs.settle()
        }
        try #require(rigs.cluster.owner(of: "s") == nil)
        let ada = try join(rigs, links, as: "ada", at: 1)
        let bob = try join(rigs, links, as: "bob", at: 2)
        func meet() {
            for _ in 0..<8 {
                for index in 1...2 { rigs.look(at: index) }
                deliver(links, rigs)
                pass(rigs, links)
            }
        }
        meet()
        let all = #"{"present":["ada","bob"],"others":0}"#
        #expect(seen(rigs, ada, at: 1) == all)
        #expect(seen(rigs, bob, at: 2) == all)
        // The owner has no reader any more, and gives the session up. The others stay together.
        let owner = try #require(
            (1...2).first { rigs.cluster.owner(of: "s") == rigs.nodes[$0].node })
        let cy = try join(rigs, links, as: "cy", at: 0)
        meet()
        rigs[owner].output.disconnect(owner == 1 ? ada : bob)
        for _ in 0..<6 {
            rigs[owner].table.tick()
            rigs.settle()
        }
        for _ in 0..<30 {
            for index in 0...2 where index != owner { rigs.look(at: index) }
            deliver(links, rigs)
            pass(rigs, links)
        }
        let rest = owner == 1 ? #""bob","cy""# : #""ada","cy""#
        #expect(seen(rigs, cy, at: 0) == #"{"present":[\#(rest)],"others":0}"#)
        #expect(
            seen(rigs, owner == 1 ? bob : ada, at: 3 - owner)
                == #"{"present":[\#(rest)],"others":0}"#)
    }

    /// The second node's links end, and it follows again.
    private func breakLinks(_ links: ScriptedLinks, _ rigs: ClusterRig, thenPass count: Int) {
        links.breakLinks(to: rigs.nodes[1].node)
        for _ in 0..<count {
            rigs.look(at: 1)
            deliver(links, rigs)
            pass(rigs, links)
        }
    }

    @Test func `after a break of the link the sets are sent again`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        let bob = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        breakLinks(links, rigs, thenPass: 30)
        let all = #"{"present":["ada","bob"],"others":0}"#
        #expect(seen(rigs, ada, at: 0) == all)
        #expect(seen(rigs, bob, at: 1) == all)
    }

    // Each node kept the names of the other for a grace, and returned them.
    @Test func `a name leaves although the link breaks more often than a grace ends`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        let bob = try join(rigs, links, as: "bob", at: 1)
        let cy = try join(rigs, links, as: "cy", at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        rigs[1].output.disconnect(bob)
        for _ in 0..<20 {
            breakLinks(links, rigs, thenPass: 2)
        }
        let rest = #"{"present":["ada","cy"],"others":0}"#
        #expect(seen(rigs, ada, at: 0) == rest)
        #expect(seen(rigs, cy, at: 1) == rest)
    }

    @Test func `a name in its grace after a break is sent when a reader here has it`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        let bob = try join(rigs, links, as: "bob", at: 0)
        _ = try join(rigs, links, as: "cy", at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        links.breakLinks(to: rigs.nodes[1].node)
        // The client of bob connects to the other node.
        rigs[0].output.disconnect(bob)
        for _ in 0..<3 {
            rigs.look(at: 1)
            deliver(links, rigs)
            pass(rigs, links)
        }
        _ = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<20 {
            rigs.look(at: 1)
            deliver(links, rigs)
            pass(rigs, links)
        }
        #expect(seen(rigs, ada, at: 0) == #"{"present":["ada","bob","cy"],"others":0}"#)
    }

    @Test func `a node gets no set that it was sent already`() throws {
        let (rigs, links, _) = try linked(3)
        for index in 0..<3 { _ = try join(rigs, links, as: ExactText("\(index)"), at: index) }
        for _ in 0..<3 { pass(rigs, links) }
        let before = links.presencesSent
        _ = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<3 { pass(rigs, links) }
        // To the owner, and from it to the third.
        #expect(links.presencesSent == before + 2)
    }

    @Test func `a node that claims a session has its earlier owner's readers no longer`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        _ = try join(rigs, links, as: nil, at: 0, on: false)
        let bob = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<3 { pass(rigs, links) }
        let all = #"{"present":["ada","bob"],"others":1}"#
        #expect(seen(rigs, bob, at: 1) == all)
        rigs.expire(0)
        rigs.beat(1)
        _ = try rigs.wake("s", at: 1)
        for _ in 0..<2 {
            rigs[1].clock.uptime += 1_000
            rigs.run()
        }
        #expect(seen(rigs, bob, at: 1) == #"{"present":["ada","bob"],"others":0}"#)
        for _ in 0..<20 {
            for index in 0...1 { rigs.beat(index) }
            rigs.look(at: 0)
            deliver(links, rigs)
            pass(rigs, links)
        }
        #expect(seen(rigs, ada, at: 0) == all)
        #expect(seen(rigs, bob, at: 1) == all)
    }

    // The feed was still in memory at the end of the grace, and sent its set: nobody.
    @Test func `a reader that returns is seen after the grace of its earlier stream`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        let earlier = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        // A read of the journal, for example, has it until it ends.
        let feed = try #require(SessionID("s").flatMap { rigs[1].table.asleep($0) })
        rigs[1].output.disconnect(earlier)
        pass(rigs, links)
        let bob = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<12 { pass(rigs, links) }
        try #require(rigs[1].table.asleep(feed.id) !== feed)
        let all = #"{"present":["ada","bob"],"others":0}"#
        #expect(seen(rigs, ada, at: 0) == all)
        #expect(seen(rigs, bob, at: 1) == all)
    }

    // Their node remembered that it had sent them to the owner of the earlier generation.
    @Test func `readers that stay when a session is created again are seen by its owner`() throws {
        let (rigs, links, session) = try linked(2)
        let bob = try join(rigs, links, as: "bob", at: 1)
        for _ in 0..<2 { pass(rigs, links) }
        _ = rigs[0].end(session)
        rigs.settle()
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        // The journal answers before the message of the owner arrives.
        rigs[1].clock.uptime += 1_000
        rigs.look(at: 1)
        deliver(links, rigs)
        let ada = try join(rigs, links, as: "ada", at: 0)
        for _ in 0..<3 { pass(rigs, links) }
        let all = #"{"present":["ada","bob"],"others":0}"#
        #expect(seen(rigs, ada, at: 0) == all)
        #expect(seen(rigs, bob, at: 1) == all)
    }

    @Test func `above 100 names at a node, the counts are added`() throws {
        let (rigs, links, _) = try linked(2)
        let ada = try join(rigs, links, as: "ada", at: 0)
        for number in 1...101 {
            rigs[1].presence = { _ in
                ReaderPresence(name: ExactText("\(number)"), getsEvents: false)
            }
            _ = try rigs.stream("s", at: 1)
        }
        deliver(links, rigs)
        for _ in 0..<3 { pass(rigs, links) }
        #expect(seen(rigs, ada, at: 0) == #"{"count":102,"others":0}"#)
    }
}
