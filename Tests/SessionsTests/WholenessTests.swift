import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "Contract §4 — a state without acknowledged actions is never shown",
    .timeLimit(.minutes(60)))
struct WholenessTests {
    /// A session with six versions and an activity that lacks the record with this number.
    private func losing(
        _ lost: UInt64, _ registration: Registration, _ body: (Int) -> String, _ last: String
    ) throws -> Rig {
        let rig = Rig(answers: true)
        let session = try rig.create("s", registration)
        for number in 1...6 { try rig.act(body(number), on: session) }
        try rig.act(last, on: session)
        rig.table.stop()
        rig.journal.edit { batch in
            batch.records = batch.records.filter { $0.number != lost || $0.kind == .note }
        }
        return Rig(journal: rig.journal, registrations: [registration])
    }

    private func expectQuarantine(_ rig: Rig, naming version: UInt64) throws {
        let found = try rig.wake("s")
        guard case .quarantined(let fault) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(fault.reason.contains("version \(version)"))
    }

    @Test(arguments: [UInt64(1), 3, 6])
    func `a reactor's session that lacks a record is quarantined`(_ lost: UInt64) throws {
        let rig = try losing(lost, .ledger(), Post.set, Post.say("x"))
        try expectQuarantine(rig, naming: lost - 1)
    }

    @Test(arguments: [UInt64(1), 3, 6])
    func `a Cycler's session that lacks a record is quarantined`(_ lost: UInt64) throws {
        let registration = try Registration(
            name: "cashier", activities: ["said"], examples: [], makeCycler: { Cashier() })
        let rig = try losing(lost, registration, Cashier.add, #"{"type":"say","text":"x"}"#)
        try expectQuarantine(rig, naming: lost - 1)
    }
}
