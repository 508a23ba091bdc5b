import Sessions
import Storage
import Testing

@Suite(
    "Contract §3 — pages of the action log, during commits that trim it", .timeLimit(.minutes(15)))
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
}
