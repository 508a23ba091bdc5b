import Cyclers
import Feeds
import Sessions
import Storage
import Testing

@Suite("What a part gets if its parent cannot commit", .timeLimit(.minutes(60)))
struct PartOutcomeTests {
    @Test(arguments: [JournalFailure.Reason.full, .unavailable, .refused])
    func `has no address of a machine`(reason: JournalFailure.Reason) {
        let failure = JournalFailure(
            reason: reason, detail: "no connection to 10.0.0.7:5432",
            publicDetail: "the database does not answer")
        guard case .unavailable(let sentence) = PartOutcome(failure) else {
            Issue.record("nothing was applied")
            return
        }
        #expect(sentence == "the database does not answer")
    }

    @Test func `has none either if the parent cannot be read`() throws {
        let first = Rig(answers: true, registrations: [try .ledger()])
        try first.create("s", .ledger())
        first.settleAll()
        let rig = Rig(answers: true, after: first, registrations: [try .ledger()])
        rig.journal.setUnreadable(
            JournalFailure(
                reason: .unavailable, detail: "no connection to 10.0.0.7:5432",
                publicDetail: "the database does not answer"))
        let parent = try #require(SessionID("s"))
        var outcome: PartOutcome?
        rig.table.wake(parent) {
            rig.table.receivePart($0, by: nil, [], .json(Array("{}".utf8))) { outcome = $0 }
        }
        rig.drainInbox()
        guard case .unavailable(let sentence)? = outcome else {
            Issue.record("nothing was applied")
            return
        }
        #expect(sentence == "the database does not answer")
    }
}
