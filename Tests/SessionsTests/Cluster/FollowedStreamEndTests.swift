import Cluster
import Clustering
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0051 — the ends of streams at any node", .timeLimit(.minutes(60)))
struct FollowedStreamEndTests: FollowedStreams {
    @Test func `the last events come before the end`() throws {
        let (rigs, session) = try two()
        var tokens: [(there: UInt64, here: UInt64)] = []
        for selection in try Self.selections() {
            let there = rigs[0].subscribe(session, selection)
            tokens.append((there, try rigs.stream("s", at: 1, selection)))
        }
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        _ = rigs[0].end(session)
        rigs.settle()
        rigs.look(at: 1)
        for (there, here) in tokens {
            #expect(rigs[1].lines(here) == rigs[0].lines(there))
            #expect(rigs[1].lines(here).last?.hasPrefix("end ") == true)
            #expect(!rigs[1].output.isStreaming(here))
        }
        #expect(rigs[1].table.count == 0)
        #expect(rigs[1].table.clusterCounts.followed.sessions == 0)
    }

    // If missing records meant that they were trimmed: `reset` with `trimmed`.
    @Test func `a session that ends while its records are read shows them`() throws {
        let (rigs, session) = try two()
        let there = rigs[0].subscribe(session)
        let here = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        rigs.nodes[1].carryOut(0)
        rigs.nodes[1].deliver(0)
        rigs.run()
        _ = rigs[0].end(session)
        rigs.run()
        rigs.settle()
        #expect(names(rigs[1], here) == ["snapshot"])
        rigs.look(at: 1)
        #expect(rigs[1].lines(here) == rigs[0].lines(there))
        #expect(names(rigs[1], here) == ["snapshot", "a", "end"])
    }

    // If an undecided change confirmed that the records are missing, the reader would get a `reset`
    // with the reason `trimmed`.
    @Test func `an end that is not decided yet shows nothing, and resets nobody`() throws {
        let (rigs, session) = try two()
        let there = rigs[0].subscribe(session)
        let here = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        rigs.nodes[1].carryOut(0)
        rigs.nodes[1].deliver(0)
        rigs.run()
        _ = rigs[0].end(session)
        rigs.run()
        rigs.settle()
        rigs.cluster.setDeciding(false)
        for _ in 0..<3 { rigs.look(at: 1) }
        #expect(names(rigs[1], here) == ["snapshot"])
        #expect(rigs[1].output.isStreaming(here))
        rigs.cluster.setDeciding(true)
        rigs.look(at: 1)
        #expect(rigs[1].lines(here) == rigs[0].lines(there))
        #expect(names(rigs[1], here) == ["snapshot", "a", "end"])
    }

    // Without another attempt the reader was disconnected, and there was nothing to continue.
    @Test func `a read that fails after the end delays the last events`() throws {
        let (rigs, session) = try two()
        let there = rigs[0].subscribe(session)
        let here = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.both(1, 2), to: session, at: 0)
        _ = rigs[0].end(session)
        rigs.settle()
        rigs.nodes[1].setImmediate(false)
        lookInVain(rigs)
        rigs.nodes[1].setImmediate(true)
        #expect(names(rigs[1], here) == ["snapshot"])
        #expect(rigs[1].output.isStreaming(here))
        rigs.look(at: 1)
        #expect(rigs[1].lines(here) == rigs[0].lines(there))
        #expect(rigs[1].table.count == 0)
    }

    @Test func `an end whose last events cannot be read leaves no reader without an answer`() throws
    {
        let (rigs, session) = try two()
        let here = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.both(1, 2), to: session, at: 0)
        _ = rigs[0].end(session)
        rigs.settle()
        rigs.nodes[1].setImmediate(false)
        lookInVain(rigs)
        #expect(rigs[1].output.isStreaming(here))
        // The id is used again, so nobody looks at the session that has ended.
        rigs.nodes[1].setImmediate(true)
        _ = try rigs[0].create("s", .ledger())
        rigs.settle()
        _ = try rigs.stream("s", at: 1)
        #expect(!rigs[1].output.isStreaming(here))
        #expect(rigs[1].table.clusterCounts.followed.sessions == 1)
    }

    @Test func `an end whose last events are gone is no silent one`() throws {
        let (rigs, session) = try two()
        let tokens = try Self.selections().map { try rigs.stream("s", at: 1, $0) }
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        _ = rigs[0].end(session)
        rigs.settle()
        rigs.cluster.forgetEnded()
        rigs.look(at: 1)
        for token in tokens {
            #expect(names(rigs[1], token).suffix(2) == ["reset", "end"])
            #expect(!rigs[1].output.isStreaming(token))
        }
        #expect(rigs[1].table.count == 0)
    }

    // Disconnected, they got neither the last events nor the end.
    @Test func `a further deletion leaves the readers of the last events alone`() throws {
        let (rigs, session) = try two()
        let there = rigs[0].subscribe(session)
        let slow = try rigs.stream("s", at: 1, capacity: 60)
        let other = try rigs.stream("s", at: 1)
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        _ = rigs[0].end(session)
        rigs.settle()
        // Before this node knows of the end, and after that.
        try delete("s", at: rigs)
        #expect(rigs[1].output.isStreaming(other))
        rigs.look(at: 1)
        #expect(rigs[1].lines(other) == rigs[0].lines(there))
        #expect(rigs[1].output.isStreaming(slow))
        try delete("s", at: rigs)
        #expect(rigs[1].output.isStreaming(slow))
        rigs[1].output.setCapacity(nil, of: slow)
        rigs.settle()
        #expect(rigs[1].lines(slow) == rigs[0].lines(there))
        #expect(rigs[1].table.count == 0)
    }

    private func delete(_ id: String, at rigs: ClusterRig) throws {
        var outcome: DeletionOutcome?
        rigs[1].table.delete(try #require(SessionID(id))) { outcome = $0 }
        rigs.settle()
        guard case .overtaken(.ended)? = outcome else { throw Rig.NoSession(id: id) }
    }

    @Test func `a session that is created again resets its readers`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        _ = rigs[0].end(session)
        rigs.settle()
        let again = try rigs[0].create("s", .ledger())
        rigs.settle()
        rigs.look(at: 1)
        _ = try rigs.post(Post.set(7), to: again, at: 0)
        rigs.look(at: 1)
        let events = rigs[1].transcript(token).events
        #expect(events.map(\.name) == ["snapshot", "reset", "snapshot", "a"])
        #expect(events[1].data.contains("generation"))
        #expect(rigs[1].table.clusterCounts.followed.sessions == 1)
    }

    @Test func `a session that this node creates again disconnects its readers`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        _ = rigs[0].end(session)
        rigs.settle()
        let again = try rigs[1].create("s", .ledger())
        rigs.settle()
        #expect(!rigs[1].output.isStreaming(token))
        #expect(rigs[1].table.count == 1 && rigs[1].table.awakeCount == 1)
        #expect(again.isRunning)
    }

    @Test func `after a loss of history the readers are reset, and nothing is claimed`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.look(at: 1)
        rigs.cluster.journal.loseHistory(0)
        rigs.settle()
        let events = rigs[1].transcript(token).events
        #expect(events.map(\.name) == ["snapshot", "a", "reset", "snapshot"])
        #expect(events[2].data.contains("generation"))
        #expect(rigs[1].output.isStreaming(token))
        #expect(rigs.nodes[1].counts[.claim] == nil)
    }

    // MARK: Without the journal

    // Without the bound: heartbeats for ever, and no events.
    @Test func `a stream whose records cannot be read for ten seconds is closed`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.nodes[1].setImmediate(false)
        let damage = JournalFailure(reason: .unavailable, detail: "damaged")
        for _ in 0..<41 {
            #expect(rigs[1].output.isStreaming(token))
            rigs[1].clock.uptime += 250
            rigs[1].table.askForChanges()
            rigs.run()
            while let kind = rigs.nodes[1].nextKind {
                rigs.nodes[1].carryOut(0, failing: kind == .read ? damage : nil)
                rigs.nodes[1].deliver(0)
                rigs.run()
            }
        }
        #expect(!rigs[1].output.isStreaming(token))
        #expect(rigs[1].table.clusterCounts.followed.unconfirmed == 0)
    }

    // Counted for the session, the failures of one ended with each read of the other.
    @Test func `a stream whose records cannot be read is closed beside one that is read`() throws {
        let (rigs, session) = try two()
        let (damaged, well) = (try rigs.stream("s", at: 1), try rigs.stream("s", at: 1, .log))
        for number in 1...41 {
            #expect(rigs[1].output.isStreaming(damaged))
            _ = try rigs.post(Post.set(number), to: session, at: 0)
            rigs.nodes[1].setImmediate(false)
            lookInVain(rigs)
            rigs.nodes[1].setImmediate(true)
        }
        #expect(!rigs[1].output.isStreaming(damaged))
        #expect(rigs[1].output.isStreaming(well))
        #expect(names(rigs[1], well).count == 82)
    }

    /// A quarter of a second is over, and the first read fails.
    private func lookInVain(_ rigs: ClusterRig) {
        var failure: JournalFailure? = JournalFailure(reason: .unavailable, detail: "damaged")
        rigs[1].clock.uptime += 250
        rigs[1].table.askForChanges()
        rigs.run()
        while let kind = rigs.nodes[1].nextKind {
            rigs.nodes[1].carryOut(0, failing: kind == .read ? failure : nil)
            if kind == .read { failure = nil }
            rigs.nodes[1].deliver(0)
            rigs.run()
        }
    }

    @Test func `a stream that nothing confirms for ten seconds is closed`() throws {
        let (rigs, session) = try two()
        let token = try rigs.stream("s", at: 1)
        rigs.look(at: 1)
        rigs.nodes[1].setImmediate(false)
        for _ in 0..<39 {
            rigs[1].clock.uptime += 250
            rigs[1].table.askForChanges()
            rigs.run()
        }
        #expect(rigs[1].output.isStreaming(token))
        #expect(rigs.nodes[1].waitingCount == 1, "a question that has no answer is not repeated")
        rigs[1].clock.uptime += 250
        rigs[1].table.askForChanges()
        #expect(!rigs[1].output.isStreaming(token))
        #expect(rigs[1].table.count == 0)
        #expect(rigs[1].table.clusterCounts.followed.unconfirmed == 1)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        #expect(names(rigs[1], token) == ["snapshot"])
    }

    @Test func `a read that fails delays the events`() throws {
        let (rigs, session) = try two()
        let tokens = try Self.selections().map { ($0, try rigs.stream("s", at: 1, $0)) }
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        rigs.nodes[1].setImmediate(false)
        rigs[1].table.askForChanges()
        rigs.nodes[1].carryOut(0)
        rigs.nodes[1].deliver(0)
        rigs.run()
        while rigs.nodes[1].waitingCount > 0 {
            rigs.nodes[1].carryOut(0, failing: .unavailable)
            rigs.nodes[1].deliver(0)
            rigs.run()
        }
        rigs.look(at: 1)
        check(rigs[1], tokens, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    @Test func `a session is forgotten with its last subscriber`() throws {
        let (rigs, _) = try two()
        let tokens = [try rigs.stream("s", at: 1), try rigs.stream("s", at: 1, .allStates)]
        for token in tokens {
            #expect(rigs[1].table.count == 1)
            rigs[1].output.disconnect(token)
        }
        #expect(rigs[1].table.count == 0)
        #expect(rigs[1].table.counts.asleep == 0)
        rigs.look(at: 1)
        #expect(rigs.nodes[1].counts[.follow] == nil, "there is nothing to ask for")
    }

    @Test func `the limit of subscribers holds`() throws {
        let (rigs, _) = try two()
        rigs[1].table.limits.subscribers = 1
        _ = try rigs.stream("s", at: 1)
        let second = try rigs.stream("s", at: 1)
        #expect(rigs[1].line(second).hasPrefix("tooManySubscribers 1"))
    }
}
