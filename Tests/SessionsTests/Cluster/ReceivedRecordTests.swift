import Cluster
import Clustering
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("ADR-0052 — an owner sends the records themselves", .timeLimit(.minutes(60)))
struct ReceivedRecordTests: FollowedStreams {
    private func linked(_ count: Int = 2) throws -> (ClusterRig, ScriptedLinks, Session) {
        try linked(count, sendingRecords: true)
    }

    private func follow(
        _ links: ScriptedLinks, _ rigs: ClusterRig, at index: Int = 1,
        selection: Selection = .allPulses
    ) throws -> UInt64 {
        let token = try rigs.stream("s", at: index, selection)
        deliver(links, rigs)
        return token
    }

    private func count(_ kind: ScriptedNode.Kind, _ rigs: ClusterRig, at index: Int = 1) -> Int {
        rigs.nodes[index].counts[kind] ?? 0
    }

    private func records(
        _ session: Session, after: HistoryPosition, _ entries: [HistoryEntry]
    ) throws -> CommittedRecords {
        let runs = Batch(records: entries, after: [session.key: after]).runs
        return try #require(CommittedRecords(runs))
    }

    // MARK: Without the journal

    @Test func `events come without a question and without a read`() throws {
        let (rigs, links, session) = try linked()
        let tokens = try [Selection.allPulses, .allActivities, .log].map {
            ($0, try follow(links, rigs, selection: $0))
        }
        let there = tokens.map { rigs[0].subscribe(session, $0.0) }
        let reads = count(.read, rigs)
        for body in Self.bodies {
            _ = try rigs.post(body, to: session, at: 0)
            deliver(links, rigs)
        }
        #expect(count(.read, rigs) == reads)
        #expect(count(.follow, rigs) == 0)
        #expect(rigs[1].table.clusterCounts.followed.received > 5)
        for (here, there) in zip(tokens, there) {
            #expect(rigs[1].lines(here.1) == rigs[0].lines(there))
        }
        check(rigs[1], tokens, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    @Test func `streams of states have the same events`() throws {
        let (rigs, links, session) = try linked()
        let tokens = try Self.selections().map { ($0, try follow(links, rigs, selection: $0)) }
        for body in Self.bodies {
            _ = try rigs.post(body, to: session, at: 0)
            deliver(links, rigs)
        }
        #expect(count(.follow, rigs) == 0)
        check(rigs[1], tokens, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Framed for each reader, an event costs as much as its delivery does.
    @Test func `a subscriber with all earlier events gets the next ones at once`() throws {
        let (rigs, links, session) = try linked()
        let tokens = try [Selection.allPulses, .allActivities, .log].map {
            ($0, try follow(links, rigs, selection: $0))
        }
        let there = tokens.map { rigs[0].subscribe(session, $0.0) }
        for body in Self.bodies {
            _ = try rigs.post(body, to: session, at: 0)
            while links.count > 0 { links.deliver(0) }
            rigs[1].drainInbox()
            #expect(rigs[1].table.background.count == 0)
            for (here, there) in zip(tokens, there) {
                #expect(rigs[1].lines(here.1) == rigs[0].lines(there))
            }
        }
    }

    // Otherwise the events would stay in memory for as long as it accepts nothing.
    @Test func `a subscriber that accepts nothing for long reads the journal later`() throws {
        let (rigs, links, session) = try linked()
        let tokens = try (0..<2).map { _ in try rigs.stream("s", at: 1, capacity: 60) }
        deliver(links, rigs)
        for body in Self.bodies {
            _ = try rigs.post(body, to: session, at: 0)
            deliver(links, rigs)
        }
        let reads = count(.read, rigs)
        rigs[1].output.setCapacity(nil, of: tokens[0])
        rigs.settle()
        #expect(count(.read, rigs) == reads)
        rigs.look(at: 1)
        rigs[1].output.setCapacity(nil, of: tokens[1])
        rigs.settle()
        #expect(count(.read, rigs) > reads)
        check(
            rigs[1], tokens.map { (.allPulses, $0) },
            against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Its connection would accept the rest of no event.
    @Test func `an end whose last events are gone comes after a whole event`() throws {
        let (rigs, links, session) = try linked()
        let token = try rigs.stream("s", at: 1)
        deliver(links, rigs)
        // The question is on its way when the records come, of which it stops in the middle.
        rigs.nodes[1].setImmediate(false)
        rigs[1].clock.uptime += 1_000
        rigs[1].table.askForChanges()
        rigs[1].output.setCapacity(20, of: token)
        _ = try rigs[0].act(Post.set(1), on: session)
        rigs.run()
        while links.count > 0 { links.deliver(0) }
        _ = rigs[0].end(session)
        rigs.run()
        links.loseAll()
        rigs.cluster.forgetEnded()
        rigs.nodes[1].carryOut(0)
        rigs.nodes[1].deliver(0)
        rigs.nodes[1].setImmediate(true)
        rigs.settle()
        rigs[1].output.setCapacity(nil, of: token)
        rigs.settle()
        #expect(names(rigs[1], token) == ["snapshot", "a", "reset", "end"])
        #expect(rigs[1].table.count == 0)
    }

    @Test func `what is sent before the subscribers have got the last is shown as well`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        for body in Self.bodies { _ = try rigs.post(body, to: session, at: 0) }
        // In one round.
        while links.count > 0 { links.deliver(0) }
        rigs.settle()
        #expect(count(.follow, rigs) == 0)
        check(
            rigs[1], [(.allPulses, token)],
            against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // Without a bound for all sessions, subscribers that accept nothing would let a loop keep
    // more and more.
    @Test func `records beyond the bound of the loop leave memory`() throws {
        let (rigs, links, session) = try linked()
        let tokens = [
            (Selection.allActivities, try follow(links, rigs, selection: .allActivities)),
            (.allActivities, try rigs.stream("s", at: 1, .allActivities, capacity: 0)),
            (.allStates, try follow(links, rigs, selection: .allStates)),
        ]
        deliver(links, rigs)
        let table = rigs[1].table
        let text = String(repeating: "x", count: 20_000)
        var most = 0
        for sent in 1...300 {
            _ = try rigs[0].act(Post.say(text), on: session)
            rigs.nodes[0].settle()
            rigs[0].drainInbox()
            while links.count > 0 { links.deliver(0) }
            rigs[1].drainInbox()
            #expect(table.clusterCounts.followed.received == sent)
            most = max(most, table.counts.readers.lagBytes)
        }
        #expect((3_000_000...HeldRecords.limitBytes).contains(most), "\(most)")
        rigs.settle()
        rigs[1].output.setCapacity(nil, of: tokens[1].1)
        rigs.settle()
        check(rigs[1], tokens, against: try Truth(rigs.cluster.journal.all, of: session))
    }

    // This node owns the session meanwhile: its history says what is kept.
    @Test func `records that came before a claim stay as long as the history`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        deliver(links, rigs)
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        rigs[1].output.setCapacity(5, of: token)
        _ = try rigs.post(Post.set(2), to: own, at: 1)
        let reads = count(.read, rigs)
        rigs.look(at: 1)
        rigs[1].output.setCapacity(nil, of: token)
        rigs.settle()
        #expect(count(.read, rigs) == reads)
        #expect(rigs[1].lines(token).dropFirst() == ["a 1 1", "a 2 2"])
    }

    // MARK: Lost, late and doubled

    @Test func `records after a gap are a hint`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        links.loseAll()
        _ = try rigs.post(Post.set(2), to: session, at: 0)
        deliver(links, rigs)
        #expect(count(.follow, rigs) == 1)
        #expect(rigs[1].lines(token).dropFirst() == ["a 1 1", "a 2 2"])
        _ = try rigs.post(Post.set(3), to: session, at: 0)
        deliver(links, rigs)
        #expect(count(.follow, rigs) == 1, "it stands at the end again")
        #expect(rigs[1].lines(token).last == "a 3 3")
    }

    @Test func `records that are doubled, or late, are shown once`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        for number in 1...3 { _ = try rigs.post(Post.set(number), to: session, at: 0) }
        // The last first, and each once more.
        for index in [2, 1, 0] {
            links.deliver(index, isKept: true)
            rigs.settle()
        }
        deliver(links, rigs)
        #expect(rigs[1].lines(token).dropFirst() == ["a 1 1", "a 2 2", "a 3 3"])
    }

    @Test func `an answer that is older than the records changes nothing`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        rigs.nodes[1].setImmediate(false)
        _ = try rigs[0].act(Post.set(1), on: session)
        rigs.run()
        links.loseAll()
        rigs[1].clock.uptime += 1_000
        rigs[1].table.askForChanges()
        rigs.run()
        rigs.nodes[1].carryOut(0)
        // The answer is on its way and names the first record; the second comes first.
        rigs[1].table.receive(
            session.id,
            try records(
                session, after: HistoryPosition(0),
                rigs.cluster.journal.kept.filter { $0.number == 1 }),
            from: rigs.nodes[0].node)
        _ = try rigs[0].act(Post.set(2), on: session)
        rigs.run()
        while links.count > 0 { links.deliver(0) }
        rigs.run()
        #expect(rigs[1].lines(token).dropFirst() == ["a 1 1", "a 2 2"])
        rigs.nodes[1].deliver(0)
        rigs.settle()
        #expect(rigs[1].lines(token).dropFirst() == ["a 1 1", "a 2 2"])
    }

    // MARK: Owners and eras

    @Test func `a deposed owner sends nothing of what was refused`() throws {
        let (rigs, links, session) = try linked(3)
        let token = try follow(links, rigs, at: 2)
        rigs.expire(0)
        let next = try rigs.wake("s", at: 1)
        let refused = try rigs.post(Post.set(9), to: session, at: 0)
        #expect(refused.hasPrefix("failed"))
        deliver(links, rigs)
        _ = try rigs.post(Post.set(1), to: next, at: 1)
        for _ in 0..<4 { rigs.look(at: 2) }
        deliver(links, rigs)
        #expect(rigs[2].lines(token).dropFirst() == ["a 1 1"])
    }

    /// The commit is in the journal, and its owner is deposed before it hears of that.
    @Test func `the last commit of a deposed owner is true, whenever it comes`() throws {
        let (rigs, links, session) = try linked(3)
        let token = try follow(links, rigs, at: 2)
        rigs.nodes[0].setImmediate(false)
        _ = try rigs[0].act(Post.set(1), on: session)
        rigs.nodes[0].carryOut(0)
        rigs.expire(0)
        var found: SessionLookup?
        rigs[1].table.wake(session.id) { found = $0 }
        rigs[1].drainInbox()
        guard case .session(let next)? = found else { throw Rig.NoSession(id: "s") }
        _ = try rigs[1].act(Post.set(2), on: next)
        rigs.nodes[0].deliver(0)
        rigs.settle()
        deliver(links, rigs)
        for _ in 0..<4 { rigs.look(at: 2) }
        deliver(links, rigs)
        #expect(rigs[2].lines(token).dropFirst() == ["a 1 1", "a 2 2"])
    }

    @Test func `records of an era that was lost are no events of the next one`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let late = try records(
            session, after: HistoryPosition(0),
            rigs.cluster.journal.kept.filter { $0.number == 1 })
        links.loseAll()
        rigs.cluster.journal.loseHistory(1)
        // While the generation is void, and after it.
        rigs[1].drainInbox()
        let received = rigs[1].table.clusterCounts.followed.received
        rigs[1].table.receive(session.id, late, from: rigs.nodes[0].node)
        #expect(rigs[1].table.asleep(session.id)?.history.committed.number == 0)
        rigs.settle()
        rigs[1].table.receive(session.id, late, from: rigs.nodes[0].node)
        rigs.settle()
        #expect(rigs[1].table.clusterCounts.followed.received == received)
        deliver(links, rigs)
        rigs.look(at: 1)
        let events = rigs[1].transcript(token).events
        #expect(events.map(\.name) == ["snapshot", "reset", "snapshot"])
        #expect(events[1].data.contains("generation"))
    }

    @Test func `records that come after a claim, an end or a new generation change nothing`()
        throws
    {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let late = try records(
            session, after: HistoryPosition(0),
            rigs.cluster.journal.kept.filter { $0.number == 1 })
        rigs.expire(0)
        let own = try rigs.wake("s", at: 1)
        rigs[1].table.receive(session.id, late, from: rigs.nodes[0].node)
        deliver(links, rigs)
        _ = try rigs.post(Post.set(2), to: own, at: 1)
        #expect(names(rigs[1], token) == ["snapshot", "a", "a"])
        _ = rigs[1].end(own)
        rigs.settle()
        rigs[1].table.receive(session.id, late, from: rigs.nodes[0].node)
        rigs.settle()
        _ = try rigs[1].create("s", .ledger())
        rigs.settle()
        rigs[1].table.receive(session.id, late, from: rigs.nodes[0].node)
        rigs.settle()
        #expect(try rigs[1].session("s").position.number == 0)
    }

    // MARK: Records that are none

    @Test func `records that are not what they say are a hint`() throws {
        let (rigs, links, session) = try linked()
        let token = try follow(links, rigs)
        // In the journal, and on no link.
        rigs[0].table.cluster?.hints = nil
        for number in 1...2 { _ = try rigs.post(Post.set(number), to: session, at: 0) }
        let entries = rigs.cluster.journal.kept.filter { $0.number > 0 }
        let good = try records(session, after: HistoryPosition(0), entries)
        for wrong in Self.falsified(good) {
            let found = wrong.entries(of: session.key, "ledger", after: HistoryEnd())
            #expect(found == nil, "\(wrong)")
        }
        #expect(good.entries(of: session.key, "ledger", after: HistoryEnd()) == entries)
        var wrong = good
        wrong.text.removeLast()
        rigs[1].table.receive(session.id, wrong, from: rigs.nodes[0].node)
        rigs.settle()
        #expect(count(.follow, rigs) == 1)
        #expect(rigs[1].lines(token).dropFirst() == ["a 1 1", "a 2 2"])
    }

    private static func falsified(_ good: CommittedRecords) -> [CommittedRecords] {
        func with(_ change: (inout CommittedRecords) -> Void) -> CommittedRecords {
            var changed = good
            change(&changed)
            return changed
        }
        return [
            with { $0.generation = "zzzzzzzz" },
            with { $0.generation = "" },
            with { $0.after = HistoryPosition(1) },
            with { $0.after = HistoryPosition(.max, part: .max) },
            with { $0.end = HistoryPosition(3) },
            with { $0.end = HistoryPosition(.max) },
            with { $0.end = HistoryPosition(0, part: 1) },
            with { $0.version = 3 },
            with { $0.version = .max },
            with { $0.text = [] },
            with { $0.text.removeLast() },
            with { $0.text.removeFirst() },
            with { $0.text += $0.text },
            with { $0.text.append(0) },
            with { $0.text = [UInt8](repeating: 0x31, count: CommittedRecords.limitBytes + 1) },
            with { $0.text = Array("4611686018427387904 0 1 1 1 1 0 0\n\n".utf8) },
            with { $0.text = Array("1 0 1 9223372036854775807 1 1 0 0\n\n".utf8) },
            // A gap between records, a version that is not the next, a creation, and an end.
            with {
                $0.text = Array("1 0 1 1 1 1 0 0\n\n3 0 1 2 2 1 0 0\n\n".utf8)
                $0.end = HistoryPosition(3)
            },
            with {
                $0.text = Array("1 0 1 7 1 1 0 0\n\n2 0 1 2 2 1 0 0\n\n".utf8)
            },
            with {
                $0.text = Array("1 0 1 1 1 1 0 0\n\n2 0 1 2 2 1 0 0\n\n3 0 0 2 2 1 0 0\n\n".utf8)
                $0.end = HistoryPosition(3)
            },
            with {
                $0.text = Array("1 0 1 1 1 1 0 0\n\n2 0 1 2 2 1 0 0\n\n3 0 4 2 2 1 0 0\n\n".utf8)
                $0.end = HistoryPosition(3)
            },
        ]
    }
}
