import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "Case 150 — the journal trims by itself, and from=start shows what it keeps",
    .timeLimit(.minutes(60)))
struct KeptHistoryTests {
    /// An awake session of nine records, and the snapshot that its journal was trimmed to
    /// afterwards.
    private func trimmed(
        through number: UInt64, retention: Int = 3
    ) throws -> (rig: Rig, session: Session, cut: Snapshot) {
        let rig = Rig(
            answers: true, registrations: [try .ledger()],
            retention: Retention(records: retention), snapshotEvery: 1)
        let session = try rig.create("s", .ledger())
        for number in 1...8 { try rig.act(Post.set(number), on: session) }
        try rig.act(Post.say("nine"), on: session)
        let cut = try #require(rig.journal.keptBatch.snapshots.last { $0.number <= number })
        rig.journal.trim(to: cut)
        return (rig, session, cut)
    }

    private func events(
        _ rig: Rig, _ session: Session, _ selection: Selection, after number: UInt64
    ) throws -> [Heard] {
        try Truth(rig.journal.all, of: session).events(selection).filter {
            try #require(Position($0.id)).number > number
        }
    }

    private func letAllIn(_ rig: Rig) {
        while !rig.inbox.isEmpty { rig.drainInbox() }
    }

    @Test(arguments: Simulation.selections + [.log])
    func `case 150: from=start shows all of the file, then live events, without a reset`(
        selection: Selection
    ) throws {
        let (rig, session, cut) = try trimmed(through: 4)
        let reader = rig.subscribe(session, selection, .start)
        letAllIn(rig)
        try rig.act(Post.all(Post.set(10), Post.say("ten"), Post.name("n")), on: session)
        letAllIn(rig)
        let expected = try events(rig, session, selection, after: cut.number)
        #expect(!expected.isEmpty)
        #expect(rig.transcript(reader).events == expected)
    }

    @Test(arguments: Simulation.selections + [.log])
    func `case 150: history in memory is shown where the file keeps less`(
        selection: Selection
    ) throws {
        let (rig, session, _) = try trimmed(through: 9)
        let reader = rig.subscribe(session, selection, .start)
        letAllIn(rig)
        try rig.act(Post.set(10), on: session)
        letAllIn(rig)
        let heard = rig.transcript(reader).events
        let expected = try events(rig, session, selection, after: 6)
        #expect(heard.allSatisfy { $0.name != "reset" && $0.name != "snapshot" })
        #expect(heard.suffix(expected.count) == expected || selection.log)
        #expect(heard.last == expected.last)
    }

    @Test func `case 150: history trimmed while the first states are read is read again`() throws {
        let (rig, session, _) = try trimmed(through: 2)
        rig.journal.setLate(true)
        let reader = rig.subscribe(session, .allStates, .start)
        rig.journal.answer(at: 0)
        letAllIn(rig)
        // The state before the first record is requested, and trimmed before the reply.
        let cut = try #require(rig.journal.keptBatch.snapshots.last { $0.number <= 5 })
        rig.journal.trim(to: cut)
        while rig.journal.askedCount > 0 {
            rig.journal.answer(at: 0)
            letAllIn(rig)
        }
        #expect(
            try rig.transcript(reader).events
                == events(rig, session, .allStates, after: cut.number))
    }

    @Test func `case 150: a reader that resumes at a trimmed position gets a reset`() throws {
        let (rig, session, cut) = try trimmed(through: 4)
        let start = rig.subscribe(session, .allPulses, .start)
        let resumed = rig.subscribe(
            session, .allPulses, .after("\(session.generation.text).0"))
        letAllIn(rig)
        #expect(rig.transcript(resumed).events.first?.name == "reset")
        #expect(
            try rig.transcript(start).events == events(rig, session, .allPulses, after: cut.number))
    }

    @Test func `case 150: an unreadable journal ends the connection and nothing else`() throws {
        let (rig, session, cut) = try trimmed(through: 4)
        rig.journal.setUnreadable(.unavailable)
        let first = rig.subscribe(session, .allPulses, .start)
        letAllIn(rig)
        #expect(rig.output.finished.contains(first))
        #expect(rig.transcript(first).events.isEmpty)
        rig.journal.setUnreadable(nil)
        let second = rig.subscribe(session, .allPulses, .start)
        letAllIn(rig)
        #expect(
            try rig.transcript(second).events
                == events(rig, session, .allPulses, after: cut.number))
    }

    @Test
    func `case 150: the log's first page begins with the oldest entry; a later one is reset`()
        throws
    {
        let (rig, session, _) = try trimmed(through: 4)
        func page(_ after: String?) -> String {
            let token = rig.nextToken()
            session.readLog(LogPageRequest(token: token, after: after, limit: 100))
            letAllIn(rig)
            return rig.line(token)
        }
        let first = page(nil)
        #expect(first.hasPrefix(#"page {"entries":[{"position":"\#(session.generation.text).5"#))
        let resumed = page("\(session.generation.text).1")
        #expect(resumed.hasPrefix(#"page {"reset":{"reason":"trimmed"},"entries":[{"#))

        // The file keeps only the newest record.
        let newest = try #require(rig.journal.keptBatch.snapshots.last)
        rig.journal.trim(to: newest)
        #expect(!page(nil).contains("reset"))
        #expect(page(nil).contains(#""version":7"#), "memory has it")
        let lost = page("\(session.generation.text).1")
        #expect(lost.hasPrefix(#"page {"reset":{"reason":"trimmed"},"entries":[{"#))
        #expect(lost.contains(#""version":7"#))
    }

    @Test func `case 150: the readable versions are those that the file keeps`() throws {
        let (rig, session, cut) = try trimmed(through: 4)
        let token = rig.read(session, version: 1)
        letAllIn(rig)
        #expect(rig.line(token) == "versionUnknown \(cut.version)...8 v8 n9")
        // Memory keeps the newest three records, but the range is the file's.
        let above = rig.read(session, version: 99)
        letAllIn(rig)
        #expect(rig.line(above) == "versionUnknown \(cut.version)...8 v8 n9")
        for version in cut.version...8 {
            let token = rig.read(session, version: version)
            letAllIn(rig)
            #expect(rig.line(token).hasPrefix(#"state {"a":\#(version),"#))
        }
        var fault: ExportFault?
        session.export(1) { if case .failure(let failure) = $0 { fault = failure } }
        letAllIn(rig)
        guard case .versionUnknown(let kept)? = fault else {
            Issue.record("version 1 is not kept: \(String(describing: fault))")
            return
        }
        #expect(kept == cut.version...8)
    }
}
