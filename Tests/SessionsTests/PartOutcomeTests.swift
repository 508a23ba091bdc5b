import Cyclers
import Sessions
import Storage
import Testing

@Suite("What a part gets if its parent cannot commit", .timeLimit(.minutes(15)))
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
}
