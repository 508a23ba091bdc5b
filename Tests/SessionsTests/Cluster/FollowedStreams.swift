import Storage
import Testing

@testable import Feeds
@testable import Sessions

/// Streams of a session at a node that does not own it.
protocol FollowedStreams {}

extension FollowedStreams {
    /// Two nodes; the first owns the session.
    func two() throws -> (ClusterRig, Session) {
        let rigs = ClusterRig(2, [try .ledger()])
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        return (rigs, session)
    }

    /// Nodes with links; the first owns the session.
    func linked(
        _ count: Int = 2, sendingRecords sendsRecords: Bool = false, replicasFrom: Int = .max
    ) throws -> (ClusterRig, ScriptedLinks, Session) {
        let rigs = ClusterRig(count, [try .ledger()], replicasFrom: replicasFrom)
        let links = ScriptedLinks(sendsRecords: sendsRecords)
        for index in 0..<count { links.add(rigs.nodes[index].node, rigs[index].table) }
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        return (rigs, links, session)
    }

    /// Delivers all letters, and what follows from them.
    func deliver(_ links: ScriptedLinks, _ rigs: ClusterRig) {
        while links.count > 0 {
            links.deliver(0)
            rigs.settle()
        }
    }

    static var states: [Selection] {
        get throws { [.allStates, .everything, try .part("/name")] }
    }

    /// Readers of states at the last node, which have had an event: their streams have the state.
    func followStates(
        _ count: Int = 2
    ) throws -> (ClusterRig, ScriptedLinks, Session, readers: [(Selection, UInt64)]) {
        let (rigs, links, session) = try linked(count, sendingRecords: true)
        let readers = try Self.states.map { ($0, try rigs.stream("s", at: count - 1, $0)) }
        deliver(links, rigs)
        try post(Post.name("first"), session, rigs, links)
        return (rigs, links, session, readers)
    }

    /// Posts at a node, and delivers what it sends to the others.
    func post(
        _ body: String, _ session: Session, at index: Int = 0, _ rigs: ClusterRig,
        _ links: ScriptedLinks
    ) throws {
        _ = try rigs.post(body, to: session, at: index)
        deliver(links, rigs)
    }

    /// The reads of the journal by a node.
    func reads(_ rigs: ClusterRig, at index: Int = 1) -> Int {
        rigs.nodes[index].counts[.read] ?? 0
    }

    static func selections() throws -> [Selection] {
        [.allPulses, .allActivities, .allStates, .everything, .log, try .part("/name")]
    }

    static var bodies: [String] {
        [
            Post.set(2), Post.both(3, 4), Post.say("x"), Post.name("y"), Post.several(5),
            Post.touch, Post.name("y"), Post.all(Post.set(6), Post.say("z")), Post.name(nil),
            Post.reset,
        ]
    }

    func names(_ rig: Rig, _ token: UInt64) -> [String] {
        rig.transcript(token).events.map(\.name)
    }

    func check(
        _ rig: Rig, _ tokens: [(Selection, UInt64)], against truth: Truth
    ) {
        for (selection, token) in tokens {
            var reader = Reader(selection)
            reader.add(connection: token, after: nil)
            reader.check(rig, against: truth, "\(selection)", mayReset: false)
            #expect(rig.output.isStreaming(token))
        }
    }
}
