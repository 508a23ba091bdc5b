import Cluster
import Clustering
import Reactors
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0051 — any node serves a stream", .timeLimit(.minutes(60)))
struct FollowedStreamTests: FollowedStreams {
    // It waited for its turn, and the state left memory meanwhile: it never began.
    @Test func `a stream of a part of a large state begins at a node that follows`() throws {
        let rigs = ClusterRig(2, [try .sized()])
        let session = try rigs[0].create("s", .sized())
        rigs.settle()
        for number in 1...8 {
            _ = try rigs.post(#"{"size":\#(100_000 + number)}"#, to: session, at: 0)
        }
        let part = try rigs.stream("s", at: 1, .part("/size"))
        let nothing = try rigs.stream("s", at: 1, .part("/nothing"))
        #expect(rigs[1].lines(part) == ["snapshot 8 100008"])
        #expect(rigs[1].lines(nothing) == ["snapshot 8 null"])
        #expect(rigs[1].output.isStreaming(part))
    }

    @Test func `a node that does not own the session shows the owner's events`() throws {
        let (rigs, session) = try two()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        var tokens: [(there: UInt64, here: UInt64)] = []
        for selection in try Self.selections() {
            let there = rigs[0].subscribe(session, selection)
            tokens.append((there, try rigs.stream("s", at: 1, selection)))
        }
        for body in Self.bodies {
            _ = try rigs.post(body, to: session, at: 0)
            rigs.look(at: 1)
        }
        for (there, here) in tokens {
            #expect(rigs[1].lines(here) == rigs[0].lines(there))
            #expect(rigs[1].lines(here).count > 1)
        }
        #expect(rigs.nodes[1].counts[.claim] == nil)
        #expect(rigs[1].table.awakeCount == 0)
        #expect(rigs[1].table.counts.asleep == 1)
        #expect(rigs[1].table.clusterCounts.followed.sessions == 1)
    }

    @Test func `one question is for all sessions`() throws {
        let (rigs, session) = try two()
        for number in 0..<5 { try rigs[0].create("s\(number)", .ledger()) }
        rigs.settle()
        for number in 0..<5 { _ = try rigs.stream("s\(number)", at: 1) }
        let token = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let before = rigs.nodes[1].counts[.read] ?? 0
        rigs.look(at: 1)
        #expect(rigs.nodes[1].counts[.follow] == 1)
        #expect(rigs.nodes[1].counts[.read] == before + 1, "only one session has changed")
        #expect(names(rigs[1], token) == ["snapshot", "a"])
        for _ in 0..<3 { rigs.look(at: 1) }
        #expect(rigs.nodes[1].counts[.read] == before + 1)
    }

    @Test func `readers of states at one position share what is read`() throws {
        let (rigs, session) = try two()
        let there = rigs[0].subscribe(session, .allStates)
        let tokens = try (0..<20).map { _ in try rigs.stream("s", at: 1, .allStates) }
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let before = rigs.nodes[1].counts[.read] ?? 0
        rigs.look(at: 1)
        #expect((rigs.nodes[1].counts[.read] ?? 0) - before < 5)
        for token in tokens { #expect(rigs[1].lines(token) == rigs[0].lines(there)) }
        // Those that did not read know nothing of the state, and continue all the same.
        rigs[1].output.disconnect(tokens[0])
        _ = try rigs.post(Post.both(2, 3), to: session, at: 0)
        rigs.look(at: 1)
        for token in tokens.dropFirst() { #expect(rigs[1].lines(token) == rigs[0].lines(there)) }
    }

    // Those that wait for a reader that waits for another one would miss the events of the slice
    // that it gets.
    @Test func `readers of states get what the one gets that they wait for`() throws {
        let (rigs, session) = try two()
        let first = try rigs.stream("s", at: 1, .allStates, capacity: 400)
        let id = rigs[1].transcript(first).lastEventID
        // The action alone, a note, fills a slice.
        _ = try rigs.post(Post.name(String(repeating: "n", count: 70_000)), to: session, at: 0)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        // The question, and then the first reader's slice, which has the note: it reads
        // the next one.
        for _ in 0..<2 {
            rigs.run()
            rigs.nodes[1].carryOut(0)
            rigs.nodes[1].deliver(0)
        }
        rigs.run()
        try #require(rigs.nodes[1].waitingCount == 1)
        let others = try (0..<2).map { _ in try rigs.request("s", at: 1, .allStates, .after(id)) }
        // The session, and then the slice with the note.
        for _ in 0..<2 {
            rigs.run()
            try #require(rigs.nodes[1].waitingCount == 2)
            rigs.nodes[1].carryOut(1)
            rigs.nodes[1].deliver(1)
        }
        rigs.run()
        #expect(rigs.nodes[1].waitingCount == 1)
        rigs.settle()
        for token in others {
            #expect(rigs[1].lines(token).map { $0.prefix(8) } == ["state 1 ", "state 2 "])
        }
    }

    // A large state would be in memory once for each of them.
    @Test func `streams that open while their session is read share the next read`() throws {
        let (rigs, session) = try two()
        rigs.nodes[1].setImmediate(false)
        var tokens: [UInt64] = []
        for _ in 0..<4 {
            tokens.append(try rigs.request("s", at: 1))
            rigs.run()
            #expect(rigs.nodes[1].waitingCount == 1)
        }
        _ = try rigs[0].act(Post.set(1), on: session)
        rigs.nodes[0].settle()
        let loads = rigs.nodes[1].counts[.read] ?? 0
        rigs.settle()
        #expect(rigs.nodes[1].counts[.read] ?? 0 == loads + 1)
        rigs.nodes[1].setImmediate(true)
        _ = try rigs.post(Post.set(2), to: session, at: 0)
        rigs.look(at: 1)
        for token in tokens { #expect(rigs[1].lines(token).last == "a 2 2") }
    }

    @Test func `readers of states continue when the one that reads has left`() throws {
        let (rigs, session) = try two()
        let there = rigs[0].subscribe(session, .allStates)
        let tokens = try (0..<3).map { _ in try rigs.stream("s", at: 1, .allStates) }
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        rigs.run()
        // The records, and then the state before them.
        for _ in 0..<2 {
            rigs.nodes[1].carryOut(0)
            rigs.nodes[1].deliver(0)
            rigs.run()
        }
        #expect(rigs.nodes[1].waitingCount == 1)
        rigs[1].output.disconnect(tokens[0])
        rigs.settle()
        for token in tokens.dropFirst() { #expect(rigs[1].lines(token) == rigs[0].lines(there)) }
    }

    // MARK: Positions

    // Without a look at the journal for each stream: `reset` with `ahead`.
    @Test func `a position that this node has not reached is not ahead`() throws {
        let (rigs, session) = try two()
        let first = try rigs.stream("s", at: 1)
        let there = rigs[0].subscribe(session)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let id = rigs[0].transcript(there).lastEventID
        let here = try rigs.stream("s", at: 1, .allPulses, .after(id))
        #expect(rigs[1].lines(here) == [])
        _ = try rigs.post(Post.set(2), to: session, at: 0)
        rigs.look(at: 1)
        #expect(rigs[1].lines(here) == ["a 2 2"])
        #expect(rigs[1].lines(first) == rigs[0].lines(there))
        let generation = try #require(id.split(separator: ".").first)
        let beyond = try rigs.stream("s", at: 1, .allPulses, .after("\(generation).3"))
        let reset = try #require(rigs[1].transcript(beyond).events.first)
        #expect(reset.name == "reset" && reset.data.contains("ahead"))
        #expect(names(rigs[1], beyond) == ["reset", "snapshot"])
    }

    // If it joined the earlier read: `reset` with `ahead`.
    @Test func `a stream is not served by a read that was sent before its request`() throws {
        let (rigs, session) = try two()
        rigs.nodes[1].setImmediate(false)
        let early = try rigs.request("s", at: 1)
        rigs.run()
        rigs.nodes[1].carryOut(0)
        try rigs[0].act(Post.set(1), on: session)
        rigs.run()
        let late = try rigs.request("s", at: 1, .allPulses, .after(session.position.text))
        rigs.run()
        rigs.settle()
        #expect(names(rigs[1], late) == [])
        #expect(names(rigs[1], early) == ["snapshot", "a"])
    }

    // Without the comparison: `reset` with `trimmed`, and posts are decided on an old state.
    @Test func `a claim that another node has overtaken is repeated`() throws {
        let rigs = ClusterRig(3, [try .ledger()])
        try rigs[0].create("s", .ledger())
        rigs.settle()
        let reader = try rigs.stream("s", at: 1)
        let name = try #require(SessionID("s"))
        rigs.expire(0)
        rigs.nodes[1].setImmediate(false)
        var found: SessionLookup?
        rigs[1].table.wake(name) { found = $0 }
        rigs.run()
        rigs.nodes[1].carryOut(0)
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        // Its lease is over before the answer comes, but it is back in time to hear of the
        // other's event.
        rigs.expire(1)
        rigs[2].table.wake(name) { _ in }
        rigs.run()
        try rigs[2].act(Post.set(1), on: try rigs[2].session("s"))
        rigs.run()
        rigs.cluster.join(rigs.nodes[1].member)
        rigs[1].table.askForChanges()
        rigs.run()
        rigs.nodes[1].carryOut(1)
        rigs.nodes[1].deliver(1)
        rigs.run()
        rigs.nodes[1].deliver(0)
        rigs.run()
        rigs.settle()
        guard case .elsewhere(let owner, _)? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(owner.node == rigs.nodes[2].node)
        rigs.look(at: 1)
        #expect(names(rigs[1], reader) == ["snapshot", "a"])
    }

    // Without the comparison of positions: the event is sent twice.
    @Test func `a read that is older than the last answer is repeated`() throws {
        let (rigs, session) = try two()
        let first = try rigs.stream("s", at: 1)
        rigs.nodes[1].setImmediate(false)
        let second = try rigs.request("s", at: 1)
        rigs.run()
        rigs.nodes[1].carryOut(0)
        try rigs[0].act(Post.set(1), on: session)
        rigs.run()
        rigs[1].table.askForChanges()
        rigs.nodes[1].carryOut(1)
        rigs.nodes[1].deliver(1)
        rigs.run()
        // The records of the first stream.
        rigs.nodes[1].carryOut(1)
        rigs.nodes[1].deliver(1)
        rigs.run()
        #expect(names(rigs[1], first) == ["snapshot", "a"])
        rigs.settle()
        #expect(rigs[1].lines(second).first?.hasPrefix("snapshot 1 ") == true)
        #expect(names(rigs[1], first) == ["snapshot", "a"])
    }

    @Test func `a reader that does not read costs no memory, and gets everything later`() throws {
        let (rigs, session) = try two()
        for selection in try Self.selections() where selection.hasSnapshot {
            let there = rigs[0].subscribe(session, selection)
            let here = try rigs.stream("s", at: 1, selection, capacity: 40)
            for body in Self.bodies {
                _ = try rigs.post(body, to: session, at: 0)
                rigs.look(at: 1)
            }
            rigs[1].output.setCapacity(nil, of: here)
            rigs.settle()
            #expect(rigs[1].lines(here) == rigs[0].lines(there))
        }
    }

    @Test func `all kept events are shown from the start`() throws {
        let (rigs, session) = try two()
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        for selection in try Self.selections() {
            let there = rigs[0].subscribe(session, selection, .start)
            let here = try rigs.stream("s", at: 1, selection, .start)
            rigs.settle()
            #expect(rigs[1].lines(here) == rigs[0].lines(there))
        }
    }

    // MARK: Owners

    // Without the state for the streams of parts, the first change after the claim is doubled or
    // lost.
    @Test func `the subscribers stay when their node becomes the owner`() throws {
        let (rigs, session) = try two()
        let tokens = try Self.selections().map { ($0, try rigs.stream("s", at: 1, $0)) }
        for body in [Post.set(1), Post.name("y")] {
            _ = try rigs.post(body, to: session, at: 0)
            rigs.look(at: 1)
        }
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        #expect(rigs[1].table.clusterCounts.followed.sessions == 0)
        for body in [Post.name("y")] + Self.bodies {
            _ = try rigs.post(body, to: own, at: 1)
        }
        check(rigs[1], tokens, against: try Truth(rigs.cluster.journal.all, of: own))
    }

    @Test func `events that were not shown before the claim are shown after it`() throws {
        let (rigs, session) = try two()
        let tokens = try Self.selections().map { ($0, try rigs.stream("s", at: 1, $0)) }
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        _ = try rigs.post(Post.set(9), to: own, at: 1)
        check(rigs[1], tokens, against: try Truth(rigs.cluster.journal.all, of: own))
    }

    @Test func `an answer that comes after a claim changes nothing`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        rigs.run()
        rigs.nodes[1].carryOut(0)
        rigs.expire(0)
        var found: SessionLookup?
        rigs[1].table.wake(session.id) { found = $0 }
        rigs.run()
        rigs.nodes[1].carryOut(1)
        rigs.nodes[1].deliver(1)
        rigs.run()
        guard case .session(let own)? = found else { throw Rig.NoSession(id: "s") }
        rigs.nodes[1].deliver(0)
        rigs.settle()
        _ = try rigs.post(Post.set(2), to: own, at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "a", "a"])
        #expect(own.isRunning)
    }

    @Test func `a session whose owner is gone is continued by a node that follows it`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[0].kill()
        rigs.look(at: 1)
        #expect(rigs.nodes[1].counts[.claim] == nil, "no beat has shown it")
        rigs.beat(1)
        rigs.look(at: 1)
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        _ = try rigs.post(Post.set(2), to: try rigs[1].session("s"), at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "a", "a"])
    }

    @Test func `a stream of a session whose owner is gone begins with a claim`() throws {
        let (rigs, _) = try two()
        rigs.nodes[0].kill()
        rigs.beat(1)
        let token = try rigs.stream("s", at: 1)
        #expect(names(rigs[1], token) == ["snapshot"])
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        #expect(try rigs[1].session("s").isRunning)
    }

    @Test func `reading wakes nobody`() throws {
        let (rigs, _) = try two()
        for _ in 0..<6 {
            rigs[0].table.tick()
            rigs.settle()
        }
        #expect(rigs.cluster.owner(of: "s") == nil)
        let token = try rigs.stream("s", at: 1)
        for _ in 0..<8 { rigs.look(at: 1) }
        #expect(rigs.cluster.owner(of: "s") == nil)
        #expect(rigs.nodes[1].counts[.claim] == nil)
        let session = try rigs.wake("s", at: 0)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.look(at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "a"])
    }

    // Nobody woke it, and what was published was lost.
    @Test func `a session that nobody owns and that listens to a topic is woken by readers`()
        throws
    {
        let registration = try Registration.of("listener") { Listener() }
        let rigs = ClusterRig(2, [registration])
        for id in ["s", "t"] { _ = try rigs[0].create(id, registration) }
        rigs.settle()
        let first = try rigs.stream("s", at: 1)
        // Its owner gives it up and ends.
        rigs[0].table.stop()
        rigs.nodes[0].kill()
        for id in ["s", "t"] { rigs.cluster.leaveUnowned(id) }
        rigs.beat(1)
        for _ in 0..<2 { rigs.look(at: 1) }
        #expect(rigs.cluster.owner(of: "s") == rigs.nodes[1].node)
        #expect(try rigs[1].session("s").tasks.isListening)
        #expect(rigs[1].output.isStreaming(first))
        let second = try rigs.stream("t", at: 1)
        #expect(rigs.cluster.owner(of: "t") == rigs.nodes[1].node)
        #expect(rigs[1].output.isStreaming(second))
        rigs[1].table.stop()
    }

    @Test func `a newer program's records are not shown as an older one's`() throws {
        let old = try Registration.of("growing") { OldGrowth() }
        let new = try Registration.of("growing") { NewGrowth() }
        let rigs = ClusterRig(hosting: [[old], [new], [new]])
        let session = try rigs[0].create("s", old)
        rigs.settle()
        let token = try rigs.stream("s", at: 1, .allStates)
        _ = try rigs.post(#"{"add":{"_0":2}}"#, to: session, at: 0)
        rigs.expire(0)
        let next = try rigs.wake("s", at: 2)
        _ = try rigs.post(#"{"add":{"centimetres":300}}"#, to: next, at: 2)
        rigs.look(at: 1)
        #expect(
            rigs[1].lines(token).suffix(2) == [
                #"reset 0 {"reason":"trimmed"}"#, #"snapshot 2 {"sum":5,"unit":"m"}"#,
            ])
        #expect(rigs[1].output.isStreaming(token))
        // The older program cannot read it.
        rigs.beat(0)
        let refused = try rigs.stream("s", at: 0, .allStates)
        #expect(rigs[0].answer(refused) == nil)
    }
}

private struct Listener: Reactor {
    enum Action: Codable, Sendable { case rename(to: String) }
    struct State: Codable, Sendable { @Pulse var name = "" }
    let initialState = State()
    var sources: [Source] { [.mutations(topic: Topic<String>("name")) { .rename(to: $0) }] }
    func reduce(state: inout State, mutation: Action) {
        if case .rename(let name) = mutation { state.name = name }
    }
}
