// Why one file: each case is a sequence of reads of one small cluster.

import Cluster
import Clustering
import Feeds
import Storage
import Testing

@testable import Sessions

@Suite("ADR-0049 — a read looks at the journal", .timeLimit(.minutes(60)))
struct ClusterReadTests {
    /// The replies to reads, with their ages.
    private final class Replies {
        var tokens: [UInt64] = []
        var ages: [Int64?] = []
        var absent: [SessionLookup] = []
    }

    private func two(isImmediate: Bool = true) throws -> (ClusterRig, Session) {
        let rigs = ClusterRig(2, [try .ledger()], isImmediate: isImmediate)
        let session = try rigs[0].create("s", .ledger())
        rigs.settle()
        return (rigs, session)
    }

    /// Asks for the state. It is shown when the database has answered.
    private func ask(
        _ rigs: ClusterRig, at index: Int, _ freshness: Freshness = .preferred,
        version: UInt64? = nil, into replies: Replies
    ) throws {
        let rig = rigs[index]
        let name = try #require(SessionID("s"))
        rig.table.read(name, freshness) { found, age in
            guard let session = found.readable else { return replies.absent.append(found) }
            replies.tokens.append(rig.read(session, version: version))
            replies.ages.append(age.seconds)
        }
    }

    /// Deletes the session at the first node, of which the second one is to know.
    private func end(_ session: Session, _ rigs: ClusterRig) throws {
        _ = rigs[0].end(session)
        rigs.settle()
        let replies = Replies()
        try ask(rigs, at: 1, into: replies)
        rigs.settle()
        guard case .ended? = replies.absent.first else { throw Rig.NoSession(id: "s") }
    }

    private func read(
        _ rigs: ClusterRig, at index: Int, _ freshness: Freshness = .preferred,
        version: UInt64? = nil
    ) throws -> String {
        let replies = Replies()
        try ask(rigs, at: index, freshness, version: version, into: replies)
        rigs.settle()
        return rigs[index].line(try #require(replies.tokens.first))
    }

    private func state(_ a: Int, _ version: Int) -> String {
        #"state {"a":\#(a),"b":0,"touched":0,"filling":""} of \#(version) v\#(version)"#
            + " n\(version)"
    }

    @Test func `any node shows the newest state, and claims nothing`() throws {
        let (rigs, session) = try two()
        for number in 1...6 {
            _ = try rigs.post(Post.set(number), to: session, at: 0)
            #expect(try read(rigs, at: 1) == state(number, number))
            #expect(try read(rigs, at: 0) == state(number, number))
        }
        #expect(rigs.nodes[1].counts[.claim] == nil)
        #expect(rigs[1].table.count == 0)
        #expect(try read(rigs, at: 1, version: 3).contains(#""a":3,"#))
        #expect(try read(rigs, at: 1, version: 99).hasPrefix("versionUnknown"))
    }

    @Test func `a session whose creation is on its way is no other node's`() throws {
        let rigs = ClusterRig(2, [try .ledger()], isImmediate: false)
        let created = rigs[0].nextToken()
        try rigs[0].table.create(try #require(SessionID("s")), .ledger(), for: created)
        rigs[0].endRound()
        let replies = Replies()
        try ask(rigs, at: 0, into: replies)
        rigs.run()
        rigs.nodes[0].carryOut(1)
        rigs.nodes[0].deliver(1)
        rigs.settle()
        #expect(rigs[0].line(created) == "created v0 n0")
        #expect(rigs[0].line(try #require(replies.tokens.first)) == state(0, 0))
    }

    @Test func `a page of the log is read on any node`() throws {
        let (rigs, session) = try two()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        let token = rigs[1].nextToken()
        rigs[1].table.read(session.id, .preferred) { found, _ in
            guard case .copy(let copy) = found else { return }
            copy.readLog(LogPageRequest(token: token, after: nil, limit: 10))
        }
        rigs.settle()
        #expect(rigs[1].line(token).hasPrefix("page"))
        #expect(rigs[1].line(token).contains(#""version":1"#))
    }

    @Test func `a node that does not know that it was deposed shows the state of the other`()
        throws
    {
        let (rigs, session) = try two()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        rigs.expire(0)
        let other = try rigs.wake("s", at: 1)
        _ = try rigs.post(Post.set(2), to: other, at: 1)
        #expect(session.version == 1)
        #expect(try read(rigs, at: 0) == state(2, 2))
        #expect(rigs[0].table.count == 0, "it decides nothing any more")
        #expect(rigs[0].table.clusterCounts.claims.deposed == 1)
    }

    @Test func `all reads of a round ask one question`() throws {
        let (rigs, _) = try two()
        let replies = Replies()
        for _ in 0..<10 { try ask(rigs, at: 0, into: replies) }
        rigs.settle()
        #expect(replies.tokens.count == 10)
        #expect(rigs.nodes[0].counts[.confirm] == 1)
        #expect(rigs.nodes[0].counts[.read] == nil)
    }

    @Test func `an owner whose commit is on its way was not deposed`() throws {
        let (rigs, session) = try two()
        rigs.nodes[0].setImmediate(false)
        let post = try rigs[0].act(Post.set(1), on: session)
        let replies = Replies()
        try ask(rigs, at: 0, into: replies)
        rigs.run()
        // The commit is written, and its end is not known here.
        rigs.nodes[0].carryOut(0)
        rigs.nodes[0].carryOut(1)
        rigs.nodes[0].deliver(1)
        rigs.run()
        let token = try #require(replies.tokens.first)
        #expect(rigs[0].line(token) == "-", "it waits for the commit")
        rigs.settle()
        #expect(rigs[0].line(post) == "received v1 n1")
        #expect(rigs[0].line(token) == state(1, 1))
        #expect(rigs[0].table.count == 1)
    }

    @Test func `without an answer memory is shown with its age, unless the reader forbids it`()
        throws
    {
        let (rigs, session) = try two()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        #expect(try read(rigs, at: 0) == state(1, 1))
        rigs.nodes[0].setImmediate(false)
        rigs[0].clock.uptime += 4_000
        let (usual, strict) = (Replies(), Replies())
        try ask(rigs, at: 0, into: usual)
        try ask(rigs, at: 0, .confirmed, into: strict)
        rigs.run()
        rigs[0].clock.uptime += 999
        rigs[0].table.answerLateReads()
        #expect(usual.tokens.isEmpty, "a second is not over")
        rigs[0].clock.uptime += 1
        rigs[0].table.answerLateReads()
        #expect(usual.ages == [5])
        #expect(rigs[0].line(try #require(usual.tokens.first)) == state(1, 1))
        guard case .unreadable? = strict.absent.first else { throw Rig.NoSession(id: "s") }
        rigs.settle()
        #expect(usual.tokens.count == 1, "a late answer is nobody's")
        #expect(rigs[0].table.clusterCounts.reads.unconfirmed == 1)
    }

    @Test func `max-stale asks for no look`() throws {
        let (rigs, _) = try two()
        rigs[0].clock.uptime += 2_500
        let replies = Replies()
        try ask(rigs, at: 0, .stale(seconds: nil), into: replies)
        try ask(rigs, at: 0, .stale(seconds: 3), into: replies)
        rigs.settle()
        #expect(replies.ages == [3, 3])
        #expect(rigs.nodes[0].counts[.confirm] == nil)
        try ask(rigs, at: 0, .stale(seconds: 2), into: replies)
        rigs.settle()
        #expect(replies.ages == [3, 3, nil])
        #expect(rigs.nodes[0].counts[.confirm] == 1)
    }

    @Test func `a node without a copy says so while the journal does not answer`() throws {
        let (rigs, _) = try two()
        rigs.nodes[1].setImmediate(false)
        let replies = Replies()
        try ask(rigs, at: 1, .stale(seconds: nil), into: replies)
        rigs.run()
        rigs[1].clock.uptime += 1_000
        rigs[1].table.answerLateReads()
        guard case .unreadable? = replies.absent.first else { throw Rig.NoSession(id: "s") }
        rigs.settle()
        #expect(replies.tokens.isEmpty)
    }

    @Test func `a read after a commit that fails does not show what was before`() throws {
        let (rigs, session) = try two()
        rigs.nodes[0].setImmediate(false)
        _ = try rigs[0].act(Post.set(1), on: session)
        let replies = Replies()
        try ask(rigs, at: 0, into: replies)
        rigs.run()
        rigs.nodes[0].carryOut(1)
        rigs.nodes[0].deliver(1)
        rigs.run()
        rigs.nodes[0].carryOut(0, failing: .outcomeUnknown)
        rigs.nodes[0].deliver(0)
        rigs.run()
        #expect(rigs[0].line(try #require(replies.tokens.first)) == "unreadable v0 n0")
    }

    /// Loads at the second node.
    private func loads(_ rigs: ClusterRig) -> Int { rigs.nodes[1].counts[.read] ?? 0 }

    // MARK: Clients that leave

    private enum Request: CaseIterable {
        case read, stream
    }

    /// As many as a node loads at a time.
    private static let loadLimit = 64

    /// A node that loads as many sessions as it may. The journal does not answer yet.
    private func busy(_ request: Request) throws -> ClusterRig {
        let (rigs, _) = try two()
        rigs.nodes[1].setImmediate(false)
        for number in 0..<Self.loadLimit { try send(request, "first-\(number)", rigs) }
        return rigs
    }

    /// Sends a request for a session that the journal does not have.
    private func send(
        _ request: Request, _ id: String, _ rigs: ClusterRig,
        while isWanted: @escaping () -> Bool = { true }, then act: @escaping () -> Void = {}
    ) throws {
        let (table, name) = (rigs[1].table, try #require(SessionID(id)))
        switch request {
        case .read: table.read(name, .preferred, while: isWanted) { _, _ in act() }
        case .stream: table.findForStream(name, for: nil, while: isWanted) { _ in act() }
        }
        rigs.run()
    }

    @Test(arguments: Request.allCases)
    private func `nothing is loaded for a client that has left`(request: Request) throws {
        let rigs = try busy(request)
        var (isOpen, answered) = (true, 0)
        for number in 0..<10 {
            try send(request, "left-\(number)", rigs, while: { isOpen }) { answered += 1 }
        }
        try send(request, "last", rigs, then: { answered += 100 })
        isOpen = false
        rigs.settle()
        #expect(loads(rigs) == Self.loadLimit + 1)
        #expect(answered == 100)
    }

    // Otherwise they are in memory until the journal has answered the requests before them.
    @Test(arguments: Request.allCases)
    private func `requests of clients that have left leave the queue`(request: Request) throws {
        final class Mark {}
        let rigs = try busy(request)
        var (isOpen, marks) = (true, [() -> Mark?]())
        for number in 0..<100 {
            let mark = Mark()
            marks.append { [weak mark] in mark }
            // Some ask for one session, as a client does that tries again.
            try send(request, "left-\(number % 50)", rigs, while: { isOpen }) {
                withExtendedLifetime(mark) {}
            }
        }
        var answered = 0
        try send(request, "last", rigs, then: { answered += 1 })
        isOpen = false
        rigs[1].table.answerLateReads()
        rigs[1].table.askForChanges()
        #expect(marks.count { $0() != nil } == 0)
        rigs.settle()
        #expect(answered == 1)
        #expect(loads(rigs) == Self.loadLimit + 1)
    }

    // MARK: Copies that are kept

    @Test func `a copy is shown again after a question, for another owner too`() throws {
        let (rigs, session) = try two()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        for count in 0..<3 {
            #expect(try read(rigs, at: 1) == state(1, 1))
            #expect(rigs.nodes[1].counts[.confirm] ?? 0 == count)
        }
        rigs.cluster.setOwner(rigs.nodes[1].node, of: "s")
        #expect(try read(rigs, at: 1) == state(1, 1))
        #expect(loads(rigs) == 1)
    }

    @Test func `a copy that is no longer the newest is not shown`() throws {
        let (rigs, session) = try two()
        for version in 1...3 {
            _ = try rigs.post(Post.set(version), to: session, at: 0)
            #expect(try read(rigs, at: 1) == state(version, version))
            #expect(loads(rigs) == version)
        }
        try end(session, rigs)
    }

    @Test func `a copy of a session that was deleted and created again is not shown`() throws {
        let (rigs, session) = try two()
        #expect(try read(rigs, at: 1) == state(0, 0))
        _ = rigs[0].end(session)
        rigs.settle()
        let next = try rigs[0].create("s", .ledger())
        rigs.settle()
        #expect(try read(rigs, at: 1) == state(0, 0))
        #expect(loads(rigs) == 2)
        _ = try rigs.post(Post.set(7), to: next, at: 0)
        #expect(try read(rigs, at: 1) == state(7, 1))
    }

    @Test func `a copy from before a loss of history is not shown`() throws {
        let (rigs, session) = try two()
        _ = try rigs.post(Post.set(1), to: session, at: 0)
        #expect(try read(rigs, at: 1) == state(1, 1))
        rigs.cluster.journal.loseHistory(0)
        rigs.settle()
        rigs.look(at: 1)
        let before = loads(rigs)
        #expect(try read(rigs, at: 1) == state(1, 1))
        #expect(loads(rigs) == before + 1)
    }

    @Test func `a copy that nobody reads is removed`() throws {
        let (rigs, _) = try two()
        _ = try read(rigs, at: 1)
        rigs[1].clock.uptime += 1_999
        rigs[1].table.answerLateReads()
        _ = try read(rigs, at: 1)
        #expect(loads(rigs) == 1)
        rigs[1].clock.uptime += 2_000
        rigs[1].table.answerLateReads()
        _ = try read(rigs, at: 1)
        #expect(loads(rigs) == 2)
    }

    @Test func `at the limit the copy that was read least recently is removed`() throws {
        let rigs = ClusterRig(2, [try .ledger()])
        let ids = (0...64).map { "s\($0)" }
        for id in ids {
            _ = try rigs[0].create(id, .ledger())
            rigs.settle()
        }
        var shown = 0
        func read(_ id: String) throws {
            rigs[1].clock.uptime += 1
            rigs[1].table.read(try #require(SessionID(id))) { found in
                if case .copy = found { shown += 1 }
            }
            rigs.settle()
        }
        for id in ids.dropLast() { try read(id) }
        try read(ids[0])
        #expect(loads(rigs) == 64)
        try read(ids[64])
        try read(ids[0])
        #expect(loads(rigs) == 65)
        try read(ids[1])
        #expect(loads(rigs) == 66)
        #expect(shown == 68)
    }

    // ADR-0065

    private static let large = 200_000

    /// Two nodes, and sessions with large states at the first one.
    private func large(_ names: String..., limit: Int, client: Int = .max / 4) throws -> (
        ClusterRig, WorkBudget
    ) {
        let rigs = ClusterRig(2, [try .sized()])
        for name in names {
            let session = try rigs[0].create(name, .sized())
            rigs.settle()
            // Enough to make a snapshot.
            for _ in 0..<4 {
                _ = try rigs.post(#"{"size":\#(Self.large)}"#, to: session, at: 0)
            }
        }
        let work = rigs[1].table.services.work
        work.adopt(limit: limit, clientLimit: client)
        #expect(work.used == 0)
        return (rigs, work)
    }

    /// Reads the current state at the second node.
    private func ask(
        _ id: String, _ rigs: ClusterRig, for client: WorkClient? = nil, into lines: Lines
    ) throws {
        let (rig, token) = (rigs[1], rigs[1].nextToken())
        rig.output.clients[token] = client
        rig.table.read(try #require(SessionID(id)), .preferred, for: client) { found, _ in
            switch found {
            case .copy(let copy):
                copy.read(version: nil, for: token)
                lines.texts.append(String(rig.line(token).prefix(10)))
            case .overBudget: lines.texts.append("no copy")
            default: lines.texts.append("\(found)")
            }
        }
    }

    private final class Lines {
        var texts: [String] = []
    }

    @Test func `a copy counts as long as it is kept, in the share of what may be dropped`() throws {
        let (rigs, work) = try large("s", limit: 1_000_000)
        let lines = Lines()
        try ask("s", rigs, into: lines)
        rigs.settle()
        #expect(lines.texts.first?.hasPrefix("state") == true)
        rigs[1].output.releaseAnswers()
        #expect((Self.large..<250_000).contains(work.used))
        for _ in 0..<12 {
            rigs[1].clock.uptime += 250
            rigs[1].table.answerLateReads()
        }
        #expect(work.used == 0)
    }

    // It counted as the last snapshot, however large the mutations had made it: 64 of the largest
    // states could be held for nothing.
    @Test(arguments: [false, true])
    func `a copy counts with what its mutations have added`(isLogRead: Bool) throws {
        // While a page of the log is read, it counts 2 MiB.
        let (rigs, work) = try large(limit: 10_000_000)
        let session = try rigs[0].create("s", .sized())
        rigs.settle()
        _ = try rigs.post(#"{"size":\#(Self.large)}"#, to: session, at: 0)
        let (rig, id) = (rigs[1], session.id)
        func read() {
            rig.table.read(id) { found in
                guard case .copy(let copy) = found else { return }
                if isLogRead {
                    copy.readLog(LogPageRequest(token: rig.nextToken(), after: nil, limit: 1))
                } else {
                    _ = rig.read(copy)
                }
            }
            rigs.settle()
            rig.output.releaseAnswers()
        }
        read()
        #expect((Self.large..<250_000).contains(work.used))
        // Without room for it, it is not kept.
        work.adopt(limit: Self.large, clientLimit: Self.large)
        rig.clock.uptime += 2_000
        rig.table.answerLateReads()
        for _ in 0..<2 { read() }
        #expect(work.used == 0)
        #expect(rigs.nodes[1].counts[.confirm] == nil)
    }

    @Test func `without room for it a session is not held, and its readers are refused`() throws {
        let (rigs, work) = try large("a", "b", limit: 450_000)
        let other = try #require(work.charge(100_000, for: nil))
        let lines = Lines()
        for id in ["a", "b"] { try ask(id, rigs, into: lines) }
        rigs.settle()
        #expect(lines.texts == ["no copy", "no copy"])
        #expect(work.used == 100_000)
        _ = consume other
        // A copy that is alone is admitted, whatever the limit is. So is the answer that is made
        // from it.
        work.adopt(limit: 1_000, clientLimit: 1_000)
        for id in ["a", "b", "a"] {
            try ask(id, rigs, into: lines)
            rigs.settle()
            rigs[1].output.releaseAnswers()
            #expect(lines.texts.last?.hasPrefix("state") == true, "\(id)")
            #expect(work.used == 0, "there is no room to keep it")
        }
    }

    @Test func `loads that are under way together share the budget`() throws {
        let (rigs, work) = try large("a", "b", "c", limit: 500_000)
        let lines = Lines()
        for id in ["a", "b", "c"] { try ask(id, rigs, into: lines) }
        rigs.run()
        // The journal has answered all of them before the loop gets an answer.
        while rigs.nodes.contains(where: { $0.waitingCount > 0 }) {
            for node in rigs.nodes { node.settle() }
        }
        #expect(work.used <= 500_000)
        rigs.settle()
        #expect(lines.texts.count == 3)
        #expect(lines.texts.count { $0 == "no copy" } == 2)
    }

    @Test func `a client without room is refused, and others of the round are not`() throws {
        let (rigs, work) = try large("s", limit: 10_000_000, client: 500_000)
        let ada = WorkClient(subject: "ada")
        let other = try #require(work.charge(200_000, for: ada))
        let lines = Lines()
        try ask("s", rigs, for: ada, into: lines)
        try ask("s", rigs, for: WorkClient(subject: "bob"), into: lines)
        rigs.settle()
        #expect(lines.texts.first == "no copy")
        #expect(lines.texts.last?.hasPrefix("state") == true)
        _ = consume other
    }

    // The streams read no state, but a session is loaded with it.
    @Test func `sessions that are loaded for streams share the budget`() throws {
        let (rigs, work) = try large("a", "b", "c", limit: 500_000)
        var refused = 0
        let tokens = try ["a", "b", "c"].map { id in
            try rigs.request(id, at: 1) { if case .overBudget = $0 { refused += 1 } }
        }
        rigs.run()
        // The journal has answered all of them before the loop gets an answer.
        while rigs.nodes.contains(where: { $0.waitingCount > 0 }) {
            for node in rigs.nodes { node.settle() }
        }
        #expect(work.used <= 500_000)
        rigs.settle()
        // The sessions that found no room were loaded again, one after the other.
        #expect(refused == 0)
        #expect(tokens.allSatisfy { rigs[1].output.isStreaming($0) })
        #expect(work.used == 0)
        // A load that is alone and finds no room is refused.
        let other = try #require(work.charge(450_000, for: nil))
        for token in tokens { rigs[1].output.lose(token) }
        _ = try rigs.request("a", at: 1) { if case .overBudget = $0 { refused += 1 } }
        rigs.settle()
        #expect(refused == 1)
        _ = consume other
    }

    @Test func `a client without room opens no stream, and others of the round do`() throws {
        let (rigs, work) = try large("s", limit: 10_000_000, client: 500_000)
        let ada = WorkClient(subject: "ada")
        let other = try #require(work.charge(200_000, for: ada))
        var refused = 0
        let tokens = try [ada, WorkClient(subject: "bob"), ada].map { client in
            try rigs.request("s", at: 1, for: client) { if case .overBudget = $0 { refused += 1 } }
        }
        rigs.settle()
        #expect(refused == 2)
        #expect(tokens.map { rigs[1].output.isStreaming($0) } == [false, true, false])
        _ = consume other
    }

    /// The journal answers everything that is under way at the second node.
    private func answerAll(_ rigs: ClusterRig) {
        rigs.run()
        let node = rigs.nodes[1]
        for index in 0..<node.waitingCount { node.carryOut(index) }
        while node.waitingCount > 0 { node.deliver(0) }
        rigs.run()
    }

    // It was loaded again without end, and its stream was never answered.
    @Test func `a stream without room is refused although others are loaded all the time`() throws {
        let (rigs, work) = try large("s", "t", limit: 10_000_000, client: 500_000)
        let (ada, bob) = (WorkClient(subject: "ada"), WorkClient(subject: "bob"))
        let other = try #require(work.charge(200_000, for: ada))
        rigs.nodes[1].setImmediate(false)
        var refused = 0
        _ = try rigs.request("s", at: 1, for: ada) { if case .overBudget = $0 { refused += 1 } }
        for _ in 0..<20 {
            let token = try rigs.request("t", at: 1, for: bob)
            answerAll(rigs)
            #expect(rigs[1].output.isStreaming(token))
        }
        #expect(refused == 1)
        _ = consume other
    }

    // The same: it was answered only when it was late.
    @Test func `a read without room is refused although others are loaded all the time`() throws {
        let (rigs, work) = try large("s", limit: 10_000_000, client: 500_000)
        let (ada, bob) = (WorkClient(subject: "ada"), WorkClient(subject: "bob"))
        let other = try #require(work.charge(200_000, for: ada))
        for number in 0..<20 { try rigs[0].create("t\(number)", .sized()) }
        rigs.settle()
        rigs.nodes[1].setImmediate(false)
        let (lines, others) = (Lines(), Lines())
        try ask("s", rigs, for: ada, into: lines)
        for number in 0..<20 {
            try ask("t\(number)", rigs, for: bob, into: others)
            answerAll(rigs)
            #expect(others.texts.count == number + 1)
        }
        #expect(lines.texts == ["no copy"])
        _ = consume other
    }

    @Test func `no session is loaded for a stream whose client has left`() throws {
        let (rigs, _) = try large("s", limit: 10_000_000)
        let reads = rigs.nodes[1].counts[.read] ?? 0
        var (isOpen, found) = (true, 0)
        let left = try rigs.request("s", at: 1, while: isOpen) { _ in found += 1 }
        isOpen = false
        rigs.settle()
        #expect(rigs.nodes[1].counts[.read] ?? 0 == reads)
        #expect(!rigs[1].output.isStreaming(left))
        let present = try rigs.request("s", at: 1)
        let other = try rigs.request("s", at: 1, while: isOpen)
        rigs.settle()
        #expect(rigs.nodes[1].counts[.read] == reads + 1)
        #expect(rigs[1].output.isStreaming(present))
        #expect(!rigs[1].output.isStreaming(other))
        #expect(found == 0)
    }

    @Test func `a copy gives way to the next one`() throws {
        let (rigs, work) = try large("a", "b", limit: 900_000)
        let lines = Lines()
        for id in ["a", "b", "b"] {
            try ask(id, rigs, into: lines)
            rigs.settle()
            rigs[1].output.releaseAnswers()
            #expect(lines.texts.last?.hasPrefix("state") == true)
            #expect((1..<450_000).contains(work.used))
        }
    }

    @Test func `an ended session, and one that never was, are known on any node`() throws {
        let (rigs, session) = try two()
        try end(session, rigs)
        var found: SessionLookup?
        rigs[1].table.read(try #require(SessionID("never"))) { found = $0 }
        rigs.settle()
        guard case .nothing? = found else { throw Rig.NoSession(id: "never") }
    }
}

extension SessionTable {
    fileprivate func read(_ id: SessionID, then act: @escaping (SessionLookup) -> Void) {
        read(id, .preferred) { found, _ in act(found) }
    }
}
