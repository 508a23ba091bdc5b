import Feeds
import Sessions
import Storage
import Testing

@Suite("Case 158 — a version has the position at which it was reached", .timeLimit(.minutes(60)))
struct VersionPositionTests {
    /// Where the version is found.
    enum Place: CaseIterable {
        case memory, trimmedMemory, archive, woken
    }

    private func rig(_ place: Place) throws -> (Rig, Session) {
        let retention = Retention(records: [.memory: 1_000, .woken: 1_000][place] ?? 2)
        let rig = Rig(
            answers: place != .trimmedMemory, registrations: [try .ledger()],
            retention: retention, snapshotEvery: 3)
        let session = try rig.create("s", .ledger())
        for number in 1...5 {
            try rig.act(Post.say("before \(number)"), on: session)
            try rig.act(Post.several(number), on: session)
        }
        for _ in 1...3 { try rig.act(Post.say("after"), on: session) }
        guard place == .woken else { return (rig, session) }
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        return (next, woken)
    }

    @Test(arguments: Place.allCases)
    func `case 158: a reader that resumes from a version's position misses nothing`(
        place: Place
    ) throws {
        let (rig, session) = try rig(place)
        let truth = try Truth(rig.journal.all, of: session)
        // Without an archive only the newest are there.
        for version in (place == .trimmedMemory ? 15 : 0)...UInt64(15) {
            let token = rig.read(session, version: version)
            while !rig.inbox.isEmpty { rig.drainInbox() }
            let content = try #require(rig.answer(token))
            guard case .state(_, version) = content.kind else {
                Issue.record("\(version): \(content.line)")
                continue
            }
            let number = try #require(truth.versions.firstIndex(of: version))
            #expect(content.position.number == UInt64(number), "version \(version)")
            guard place != .trimmedMemory else { continue }
            let reader = rig.subscribe(session, .everything, .after(content.position.text))
            while !rig.inbox.isEmpty { rig.drainInbox() }
            let missed = try truth.events(.everything).filter {
                try #require(Position($0.id)).number > UInt64(number)
            }
            #expect(rig.transcript(reader).events == missed, "version \(version)")
            rig.output.disconnect(reader)
        }
    }

    @Test func `case 158: the oldest kept version has the position at which history begins`()
        throws
    {
        let (rig, session) = try rig(.archive)
        let cut = try #require(
            rig.journal.keptBatch.snapshots.first { $0.version > 2 && $0.number < 15 })
        rig.journal.trim(to: cut)
        let token = rig.read(session, version: cut.version)
        while !rig.inbox.isEmpty { rig.drainInbox() }
        let content = try #require(rig.answer(token))
        #expect(content.position.number == cut.number)
        let reader = rig.subscribe(session, .allPulses, .after(content.position.text))
        while !rig.inbox.isEmpty { rig.drainInbox() }
        #expect(rig.transcript(reader).events.first?.name != "reset")
    }

    @Test func `case 158: a version that awaits its commit has its final position`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.say("one"), on: session)
        try rig.act(Post.set(2), on: session)
        let token = rig.read(session, version: 1)
        rig.settleAll()
        #expect(rig.line(token).hasSuffix("v1 n2"))
    }
}
