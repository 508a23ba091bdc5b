import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "ADR-0053 — no mutation is saved after a state of another form", .timeLimit(.minutes(60)))
struct FormTests {
    /// A journal with a session that the old program has saved: a snapshot of its creation, and two
    /// mutations.
    private func saved() throws -> Rig {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of("growing") { OldGrowth() })
        try rig.act(#"{"add":{"_0":2}}"#, on: session)
        try rig.act(#"{"add":{"_0":3}}"#, on: session)
        return rig
    }

    private func next(_ rig: Rig, _ registration: Registration) -> Rig {
        rig.table.stop()
        return Rig(journal: rig.journal, registrations: [registration])
    }

    // It ran, and its next mutation was read as one of the old form when it woke again: as metres.
    @Test func `a session whose migrated state cannot be saved is quarantined`() throws {
        let rig = try saved()
        let brittle = next(rig, try .of("growing") { BrittleGrowth() })
        let before = rig.journal.kept.count
        guard case .quarantined(let fault) = try brittle.wake("s") else {
            Issue.record("it would save mutations of the new form after a state of the old one")
            return
        }
        #expect(fault.place == "the migrated state of version 2")
        #expect(fault.reason.hasPrefix("it cannot be encoded: "))
        #expect(brittle.table.count == 0 && brittle.table.awakeCount == 0)
        #expect(rig.journal.kept.count == before)
        // Both another program and the old one continue it.
        for registration in [
            try Registration.of("growing") { OldGrowth() },
            try Registration.of("growing") { NewGrowth() },
        ] {
            let healed = next(rig, registration)
            guard case .session(let session) = try healed.wake("s") else {
                Issue.record("nothing has changed")
                return
            }
            #expect(session.version == 2)
        }
    }

    @Test func `a rehearsal finds it`() throws {
        let rig = try saved()
        let found = try #require(rig.journal.loaded("s"))
        #expect(try Registration.of("growing") { NewGrowth() }.rehearse(found) == [])
        let brittle = try Registration.of("growing") { BrittleGrowth() }
        #expect(throws: RecoveryFault.self) { _ = try brittle.rehearse(found) }
    }

    // It was acknowledged, and nothing had its state.
    @Test func `a session does not begin with a state that cannot be saved`() throws {
        let brittle = try Registration.of("growing") { BrittleGrowth() }
        let rig = Rig(answers: true, registrations: [brittle])
        let id = try #require(SessionID("t"))
        var saved = SavedSession(
            key: SessionKey(session: "t", generation: "aaaaaaaa"), reactor: "growing")
        for (sum, isAccepted) in [(7, false), (4, true)] {
            saved.snapshot = Snapshot(
                session: "t", generation: "aaaaaaaa", number: 0, version: 0, lastAction: 0,
                stateVersion: 1, state: Array(#"{"sum":\#(sum)}"#.utf8), time: 0)
            do throws(RecoveryFault) {
                try rig.table.create(id, brittle, for: rig.nextToken(), from: saved)
                #expect(isAccepted)
            } catch {
                #expect(!isAccepted && error.place == "the migrated state of version 0")
            }
            #expect(rig.table.count == (isAccepted ? 1 : 0))
            #expect(rig.table.awakeCount == rig.table.count)
        }
    }
}
