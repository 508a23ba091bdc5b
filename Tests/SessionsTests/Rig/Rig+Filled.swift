import Feeds
import Sessions
import Storage
import Testing

extension Rig {
    /// A rig with a session whose earlier versions are only in the journal.
    ///
    /// - Parameter fills: How many bytes each version adds. The state contains them twice.
    static func filled(
        _ fills: [Int], snapshotEvery: Int = 1_000, work: WorkBudget = WorkBudget()
    ) throws -> (Rig, Session) {
        let rig = Rig(
            answers: true, registrations: [try .ledger()], retention: Retention(records: 1),
            snapshotEvery: snapshotEvery, work: work)
        let session = try rig.create("s", .ledger())
        for bytes in fills {
            try rig.act(Post.fill(bytes), on: session)
            rig.settleAll()
        }
        rig.drainInbox()
        rig.output.releaseAnswers()
        #expect(work.used == 0)
        return (rig, session)
    }
}
