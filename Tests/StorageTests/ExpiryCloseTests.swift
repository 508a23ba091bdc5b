import EngineSuite
import Testing

@testable import Storage

@Suite(
    "A file is closed soon while rows of sessions that expire are missing", .timeLimit(.minutes(60))
)
struct ExpiryCloseTests {
    @Test func `the next start adds the rows`() async throws {
        let rig = try JournalRig()
        var batch = Batch()
        for number in 0..<5_000 { batch.append(Batch(records: [.created("s\(number)")])) }
        #expect(await rig.commit(batch) == nil)
        rig.journal.expiries?.addMissing(["alerts": 1_000])
        try await rig.reopen()
        #expect(try rig.count("SELECT count(*) FROM timers") <= ExpiryBacklog.step)
    }
}
