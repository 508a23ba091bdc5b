import Feeds
import Reactors
import Storage
import Testing

@testable import Sessions

@Suite("Contract §3.2 — memory is bounded by what is kept", .timeLimit(.minutes(60)))
struct RetentionTests {
    @Test func `the set number of records is kept, and always the newest`() throws {
        for records in [0, 1, 2, 7] {
            let rig = Rig(retention: Retention(records: records))
            let session = try rig.create("s", .ledger())
            for a in 1...20 { try rig.act(Post.set(a), on: session) }
            let kept = rig.lines(rig.subscribe(session, .allPulses, .start))
            #expect(kept == (20 - max(1, records) + 1...20).map { "a \($0) \($0)" })
        }
    }

    @Test func `case 153: a snapshot is due after enough bytes, including activities`() throws {
        let rig = Rig(answers: true, snapshotBytes: 1_000)
        let session = try rig.create("s", .ledger())
        for _ in 1...10 {
            try rig.act(Post.say(String(repeating: "x", count: 300)), on: session)
        }
        #expect(rig.journal.keptBatch.snapshots.map(\.number) == [0, 4, 8])
        // Less often for a large state: snapshots would be most of the written bytes.
        for _ in 1...10 { try rig.act(Post.fill(2_000), on: session) }
        let sizes = rig.journal.keptBatch.snapshots.dropFirst(3).map(\.number)
        #expect(sizes.count <= 6)
    }

    @Test(arguments: ["nothing", "refuse"])
    func `actions that make no record make a snapshot due`(_ type: String) throws {
        let rig = Rig(answers: true, snapshotBytes: 10_000)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let body = #"{"type":"\#(type)","text":"\#(String(repeating: "x", count: 100_000))"}"#
        for _ in 1...60 { try rig.act(body, on: session) }
        // One snapshot for each mebibyte. All but the first are of a record that ends the notes.
        let snapshots = rig.journal.keptBatch.snapshots
        #expect(snapshots.count >= 5)
        for snapshot in snapshots.dropFirst() {
            let last = rig.journal.all.last { $0.head.position.number == snapshot.number }
            #expect(last?.head.kind == .failure)
        }
        var notes = 0
        for entry in rig.journal.all {
            notes = entry.head.kind == .note ? notes + 1 : 0
            #expect(notes <= 12)
        }
        // The state is unchanged, before and after the session is loaded again.
        #expect(rig.state(session).contains(#""a":1"#))
        let next = Rig(answers: true, after: rig, registrations: [try .ledger()])
        guard case .session(let again) = try next.wake("s") else {
            Issue.record("the session does not wake")
            return
        }
        #expect(next.state(again).contains(#""a":1"#))
    }

    @Test func `a session that sleeps with many notes can be trimmed`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        let body = #"{"type":"refuse","text":"\#(String(repeating: "x", count: 30_000))"}"#
        for _ in 1...8 { try rig.act(body, on: session) }
        #expect(session.isSaved)
        try rig.act(body, on: session)
        #expect(!session.isSaved)
        session.save()
        rig.settleAll()
        #expect(session.isSaved)
        #expect(rig.journal.all.last?.head.kind == .failure)
        #expect(rig.journal.keptBatch.snapshots.last?.number == 1)
    }

    @Test func `failures make a snapshot due`() throws {
        let rig = Rig(answers: true, snapshotBytes: 10_000)
        let session = try rig.create("s", .ledger())
        let before = rig.journal.keptBatch.snapshots.count
        let error = String(repeating: "x", count: 1_000)
        for _ in 1...2_500 {
            EffectLog(session: session).failed(at: .source, error, of: .none)
            try rig.act(Post.nothing, on: session)
        }
        #expect(rig.journal.keptBatch.snapshots.count >= before + 2)
    }

    @Test func `the set number of bytes is kept, and always the newest record`() throws {
        let rig = Rig(retention: Retention(records: 1_000, bytes: 600))
        let session = try rig.create("s", .ledger())
        for _ in 1...20 { try rig.act(Post.fill(100), on: session) }
        let events = rig.transcript(
            rig.subscribe(session, .allPulses, .after("\(session.generation.text).18"))
        ).events
        #expect(events.map(\.name) == ["filling", "filling"])
        let old = rig.subscribe(session, .allPulses, .after("\(session.generation.text).10"))
        #expect(rig.lines(old).first == #"reset  {"reason":"trimmed"}"#)
        try rig.act(Post.fill(5_000), on: session)
        for reader in 1...rig.lastToken { rig.output.disconnect(reader) }
        let newest = rig.subscribe(
            session, .allPulses, .after("\(session.generation.text).20"))
        #expect(rig.transcript(newest).events.map(\.name) == ["filling"])
    }

    @Test func `the largest possible number of bytes is no limit`() throws {
        let rig = Rig(retention: Retention(records: 2, bytes: .max))
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .allPulses, .now)
        for a in 1...10 { try rig.act(Post.set(a), on: session) }
        #expect(rig.transcript(reader).events.map(\.data) == (1...10).map(String.init))
    }

    @Test func `a stream trimmed more than the history is rebuilt for a reader that needs it`()
        throws
    {
        let rig = Rig(retention: Retention(records: 30, bytes: 1_300))
        let session = try rig.create("s", .ledger())
        let uncut = rig.subscribe(session, .allPulses, .now)
        for a in 1...200 {
            try rig.act(Post.both(a, a), on: session)
            guard a > 40 else { continue }
            let number = a - 7 - a % 23
            let position = "\(session.generation.text).\(number)"
            let reader = rig.subscribe(session, .allPulses, .after(position))
            #expect(
                rig.lines(reader)
                    == (number + 1...a).flatMap { ["a \($0).1 \($0)", "b \($0) \($0)"] })
            rig.output.disconnect(reader)
        }
        #expect(rig.lines(uncut).count == 400)
    }

    @Test func `a reader that keeps up gets every event, however little is kept`() throws {
        let rig = Rig(retention: Retention(records: 1, bytes: 0))
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .allPulses, .now)
        for a in 1...3_000 { try rig.act(Post.set(a), on: session) }
        #expect(rig.transcript(reader).events.map(\.data) == (1...3_000).map(String.init))
    }

    @Test func `case 58: every kept version is readable and equals the fold of its records`()
        throws
    {
        let rig = Rig(retention: Retention(records: 600))
        let session = try rig.create("s", .ledger())
        var states = [rig.state(session)]
        for a in 1...900 {
            let body =
                switch a % 5 {
                case 0: Post.reset
                case 1: Post.both(a, -a)
                case 2: Post.name("n\(a)")
                default: Post.touch
                }
            try rig.act(body, on: session)
            states.append(rig.state(session))
        }
        for version in 300...900 {
            #expect(rig.state(session, version: UInt64(version)) == states[version])
        }
        for version in [299, 901, UInt64.max] {
            #expect(rig.state(session, version: version) == "versionUnknown 300...900 v900 n900")
        }
    }

    @Test func `versions and numbers differ where there are activities, and both are right`() throws
    {
        let rig = Rig(retention: Retention(records: 4))
        let session = try rig.create("s", .ledger())
        for a in 1...10 { try rig.act(Post.all(Post.set(a), Post.say("x")), on: session) }
        #expect(session.version == 10)
        #expect(session.position.number == 20)
        #expect(rig.state(session, version: 8).hasPrefix(#"{"a":8,"#))
        #expect(rig.state(session, version: 7).hasPrefix("versionUnknown 8...10"))
    }

    @Test func `case 11: 20 000 changes in place copy nothing`() throws {
        let copies = Copies()
        let rig = Rig()
        let session = try rig.create("s", .of { Grower(copies: copies) })
        let reader = rig.subscribe(session, .allActivities, .now)
        for _ in 1...20_000 { try rig.act(#"{"type":"grow"}"#, on: session) }
        #expect(session.version == 20_000)
        // One copy when the first change separates the present state from the oldest kept one, one
        // when the oldest is first folded.
        #expect(copies.count <= 2)
        #expect(rig.lines(reader) == [])
    }

    // Case 150.
    @Test func `a log reader after a note whose record is trimmed in the file gets a reset`()
        throws
    {
        let rig = Rig(answers: true, retention: Retention(records: 1), snapshotEvery: 2)
        let session = try rig.create("s", .ledger())
        for a in 1...5 { try rig.act(Post.set(a), on: session) }
        let cut = try #require(rig.journal.keptBatch.snapshots.first { $0.number == 2 })
        rig.journal.trim(to: cut)
        let reader = rig.subscribe(session, .log, .after("\(session.generation.text).2.1"))
        rig.drainInbox()
        #expect(rig.lines(reader) == [#"reset 5 {"reason":"trimmed"}"#])
        let later = rig.subscribe(session, .log, .after("\(session.generation.text).2"))
        rig.drainInbox()
        #expect(rig.transcript(later).events.map(\.name).count == 6)
    }
}
