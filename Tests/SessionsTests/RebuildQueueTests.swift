import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "Work has a bound — a rebuild that waits begins when there is room",
    .timeLimit(.minutes(60)))
struct RebuildQueueTests {
    private static let fill = 200_000
    /// About the bytes of a state that is filled: it has them twice.
    private static let size = 2 * fill

    /// The earlier versions have snapshots of their own.
    private func rig(
        _ work: WorkBudget = WorkBudget(), fills: [Int] = Array(repeating: fill, count: 5)
    ) throws -> (Rig, Session) {
        try Rig.filled(fills, snapshotEvery: 1, work: work)
    }

    private func read(
        _ rig: Rig, _ session: Session, version: UInt64, by client: WorkClient? = nil
    ) -> UInt64 {
        let token = rig.nextToken()
        rig.output.clients[token] = client
        session.read(version: version, for: token)
        return token
    }

    private func answerAll(_ rig: Rig) {
        rig.journal.setLate(false)
        while rig.journal.askedCount > 0 { rig.journal.answer(at: 0) }
        rig.drainInbox()
    }

    private func isState(_ rig: Rig, _ token: UInt64) -> Bool {
        rig.line(token).hasPrefix("state")
    }

    @Test func `a rebuild begins with the room that the one before has given back`() throws {
        // The answer to the first rebuild, and the second rebuild, which is estimated at four
        // answers. There is no room for two rebuilds.
        let work = WorkBudget(limit: 11 * Self.size / 2)
        let (rig, session) = try rig(work)
        let tokens = [UInt64(2), 3].map { read(rig, session, version: $0) }
        rig.drainInbox()
        #expect(tokens.allSatisfy { isState(rig, $0) })
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    @Test func `a rebuild begins although the one before is not wanted any more`() throws {
        let work = WorkBudget(limit: 3 * Self.size)
        let (rig, session) = try rig(work)
        rig.journal.setLate(true)
        let left = read(rig, session, version: 2)
        let next = read(rig, session, version: 3)
        session.forget(left)
        answerAll(rig)
        #expect(isState(rig, next))
        #expect(rig.line(left) == "-")
    }

    // Its answer would be about a history that may have been replaced.
    @Test func `a rebuild that waits while history is lost does not begin`() throws {
        let (rig, session) = try rig()
        rig.journal.setLate(true)
        let tokens = [UInt64(2), 3].map { read(rig, session, version: $0) }
        rig.table.feeds.journal.losses += 1
        answerAll(rig)
        #expect(!isState(rig, tokens[0]))
        #expect(rig.line(tokens[1]).hasPrefix("overBudget"))
    }

    @Test func `earlier states that were larger than the present one are rebuilt one at a time`()
        throws
    {
        let work = WorkBudget(limit: 13 * Self.size / 2)
        let (rig, session) = try rig(work, fills: [Self.fill, Self.fill, 1, 1, 1, 1])
        let tokens = (0..<3).map { _ in read(rig, session, version: 2) }
        rig.drainInbox()
        #expect(tokens.allSatisfy { isState(rig, $0) })
    }

    @Test func `one client leaves room to others where rebuilds wait`() throws {
        let (rig, session) = try rig(fills: Array(repeating: 40_000, count: 5))
        let mine = WorkClient(subject: "ada")
        rig.journal.setLate(true)
        let tokens = (0..<300).map { _ in read(rig, session, version: 2, by: mine) }
        let other = read(rig, session, version: 2, by: WorkClient(subject: "bob"))
        answerAll(rig)
        #expect(isState(rig, other))
        #expect(tokens.contains { rig.line($0).hasPrefix("overBudget") })
        #expect(isState(rig, tokens[0]))
    }

    @Test func `one client leaves room to others where rebuilds of small states wait`() throws {
        let (rig, session) = try rig(fills: [1, 2, 3, 4, 5])
        let mine = WorkClient(subject: "ada")
        rig.journal.setLate(true)
        let tokens = (0..<300).map { _ in read(rig, session, version: 2, by: mine) }
        let other = read(rig, session, version: 2, by: WorkClient(subject: "bob"))
        answerAll(rig)
        #expect(isState(rig, other))
        #expect(isState(rig, tokens[0]))
        // Eight run.
        #expect(tokens.count { rig.line($0).hasPrefix("overBudget") } == 300 - 256 - 8)
    }

    @Test func `one client leaves room to others where reads of pages wait`() throws {
        let (rig, session) = try rig(fills: [1, 2, 3, 4, 5])
        rig.journal.setLate(true)
        let tokens = (0..<80).map { number in
            let token = rig.nextToken()
            rig.output.clients[token] = WorkClient(subject: number < 79 ? "ada" : "bob")
            session.readLog(
                LogPageRequest(
                    token: token, after: Position(session.generation, 1).text, limit: 10))
            return token
        }
        answerAll(rig)
        #expect(rig.line(tokens[79]).hasPrefix("page"))
        #expect(rig.line(tokens[0]).hasPrefix("page"))
        // Two run.
        #expect(tokens.count { rig.line($0).hasPrefix("overBudget") } == 79 - 64 - 2)
    }

    @Test func `a fork is not rebuilt when its client has left`() throws {
        let (rig, session) = try rig(fills: [1, 2, 3, 4, 5])
        var (isOpen, ended) = (true, 0)
        rig.journal.setLate(true)
        for _ in 0..<300 { session.export(2, while: { isOpen }) { _ in ended += 1 } }
        isOpen = false
        session.export(2, while: { isOpen }) { _ in ended += 1 }
        let token = read(rig, session, version: 2)
        answerAll(rig)
        #expect(ended == 0)
        #expect(isState(rig, token))
        isOpen = true
        session.export(2, while: { isOpen }) { _ in ended += 1 }
        answerAll(rig)
        #expect(ended == 1)
    }

    @Test func `requests that have ended take no place where rebuilds wait`() throws {
        let (rig, session) = try rig(fills: Array(repeating: 40_000, count: 5))
        rig.journal.setLate(true)
        for _ in 0..<300 { session.forget(read(rig, session, version: 2)) }
        let token = read(rig, session, version: 2)
        answerAll(rig)
        #expect(isState(rig, token))
    }

    @Test func `a session stays in memory while its rebuild waits for that of another one`() throws
    {
        let work = WorkBudget()
        let (rig, first) = try rig(work)
        let second = try rig.create("t", .ledger())
        for _ in 0..<5 {
            try rig.act(Post.fill(Self.fill), on: second)
            rig.settleAll()
        }
        rig.drainInbox()
        rig.journal.setLate(true)
        let running = read(rig, first, version: 2)
        let waiting = read(rig, second, version: 2)
        for _ in 0..<8 {
            rig.table.tick()
            rig.settleAll()
        }
        answerAll(rig)
        #expect(isState(rig, running))
        #expect(isState(rig, waiting))
        for _ in 0..<8 {
            rig.table.tick()
            rig.settleAll()
        }
        #expect(rig.table.awakeCount == 0)
    }
}
