import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "Contract §3 — pages of the action log, during commits that trim it", .timeLimit(.minutes(60)))
struct LogPageTests {
    private func page(_ rig: Rig, of session: Session, after: UInt64) -> UInt64 {
        let token = rig.nextToken()
        session.readLog(
            LogPageRequest(
                token: token, after: Position(session.generation, after).text, limit: 100))
        return token
    }

    private func records(_ line: String) -> Int {
        line.split(separator: "\"kind\":\"mutation\"", omittingEmptySubsequences: false).count - 1
    }

    /// A session of three records with a pending commit of five more, and a page that waits for
    /// that commit.
    private func trimmed(_ rig: Rig) throws -> (session: Session, page: UInt64) {
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        for number in 1...3 { try rig.act(Post.set(number), on: session) }
        rig.settleAll()
        _ = page(rig, of: session, after: 1)
        rig.settleAll()
        try rig.act(Post.all(Post.several(4), Post.touch, Post.set(5)), on: session)
        try rig.post(Post.set(6), to: session)
        let waiting = page(rig, of: session, after: 1)
        return (session, waiting)
    }

    @Test func `case 142: a page whose beginning is trimmed while it waits comes from the journal`()
        throws
    {
        let rig = Rig(slow: true, answers: true, retention: Retention(records: 3))
        let (_, waiting) = try trimmed(rig)
        rig.settleAll()
        rig.drainInbox()
        #expect(records(rig.line(waiting)) == 8)
        #expect(!rig.line(waiting).contains("reset"))
    }

    @Test func `case 142: a page whose entries are kept nowhere reports that they were trimmed`()
        throws
    {
        let rig = Rig(slow: true, retention: Retention(records: 3))
        let (_, waiting) = try trimmed(rig)
        rig.settleAll()
        #expect(rig.line(waiting).hasPrefix(#"page {"reset":{"reason":"trimmed"}"#))
    }

    @Test func `a page that waits for a failing commit shows the committed entries`() throws {
        for answers in [false, true] {
            let rig = Rig(slow: true, answers: answers, retention: Retention(records: 3))
            let (_, waiting) = try trimmed(rig)
            rig.settle()
            rig.settle(.unavailable)
            rig.drainInbox()
            let line = rig.line(waiting)
            #expect(answers ? records(line) == 7 : line.contains("trimmed"), "\(line)")
        }
    }

    /// A session of which only the journal has the first entries.
    private func long(_ work: WorkBudget) throws -> (Rig, Session) {
        let rig = Rig(answers: true, retention: Retention(records: 3), work: work)
        let session = try rig.create("s", .ledger())
        let name = Post.name(String(repeating: "x", count: 5_000))
        for _ in 1...40 { try rig.act(name, on: session) }
        return (rig, session)
    }

    @Test func `a page counts while it is read, and until it is sent`() throws {
        let work = WorkBudget(limit: 10 << 20, clientLimit: 10 << 20)
        let (rig, session) = try long(work)
        let token = page(rig, of: session, after: 1)
        #expect(work.used >= 1_048_576)
        rig.drainInbox()
        #expect(records(rig.line(token)) == 39)
        #expect((390_000..<450_000).contains(work.used))
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    @Test(arguments: [1 as UInt64, 38])
    func `a page is a small one if there is no room for a large one`(after start: UInt64) throws {
        let work = WorkBudget(limit: 10 << 20, clientLimit: 10 << 20)
        let (rig, session) = try long(work)
        let other = work.charge(9 << 20, for: nil)
        let token = page(rig, of: session, after: start)
        rig.drainInbox()
        #expect(work.used == 9 << 20)
        let count = records(rig.line(token))
        #expect(count == 2, "\(rig.line(token).suffix(100))")
        #expect(rig.line(token).contains("next") == (start == 1))
        _ = consume other
    }

    @Test func `no more entries are read than the page may have`() throws {
        let (rig, session) = try long(WorkBudget())
        let token = rig.nextToken()
        session.readLog(
            LogPageRequest(
                token: token, after: Position(session.generation, 1).text, limit: 2))
        rig.drainInbox()
        #expect(rig.line(token).contains("next"))
        #expect(rig.journal.mostRecordsRead == 2)
    }
}
