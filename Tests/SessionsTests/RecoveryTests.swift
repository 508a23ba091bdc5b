import Feeds
import JSONCoding
import Reactors
import Sessions
import Storage
import Synchronization
import Testing

@Suite(
    "Contract §4 — after a restart every session continues where it was",
    .timeLimit(.minutes(60)))
struct RecoveryTests {
    /// The next process on the same journal.
    private func next(
        _ rig: Rig, _ registrations: [Registration]? = nil, retention: Retention = Retention()
    ) throws -> Rig {
        rig.table.stop()
        return Rig(
            journal: rig.journal, registrations: try registrations ?? [.ledger()],
            retention: retention)
    }

    private func woken(_ rig: Rig, _ id: String = "s") throws -> Session {
        guard case .session(let session) = try rig.wake(id) else { throw Rig.NoSession(id: id) }
        return session
    }

    @Test(arguments: [1, 2, 5, 1_000])
    func `state, version and position are restored`(snapshotEvery: Int) throws {
        let rig = Rig(answers: true, snapshotEvery: snapshotEvery)
        let session = try rig.create("s", .ledger())
        for number in 1...7 { try rig.act(Post.several(number), on: session) }
        try rig.act(Post.say("hi"), on: session)
        let state = rig.state(session)
        let later = try woken(next(rig))
        #expect(later.version == 21)
        #expect(later.position == session.position)
        let again = try next(rig)
        #expect(try again.state(woken(again)) == state)
    }

    @Test func `each action that is run again has a turn of its own`() throws {
        let registration = try Registration.of("speaker") { Speaker() }
        let rig = Rig(answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        for letter in ["a", "b", "c"] {
            let text = String(repeating: letter, count: 900)
            try rig.act(#"{"type":"say","text":"\#(text)"}"#, on: session)
        }
        #expect(session.version == 3)
        let later = try next(rig, [registration])
        later.table.limits.turnBytes = 2_000
        let found = try woken(later)
        later.settleAll()
        #expect(found.version == 6)
        #expect(later.output.failures.isEmpty)
    }

    @Test func `nothing uncommitted is restored`() throws {
        let rig = Rig(slow: true, answers: true)
        try rig.create("s", .ledger())
        guard case .nothing = try next(rig).wake("s") else {
            Issue.record("a session whose creation was not committed is not there")
            return
        }
    }

    @Test func `case 17: waking is no assignment, and the next one is an event`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        try rig.act(Post.set(2), on: session)
        let last = session.position.text
        let later = try next(rig)
        let reader = later.subscribe(try woken(later), .allPulses, .after(last))
        #expect(later.transcript(reader).events.isEmpty)
        #expect(later.output.bytes(of: reader).isEmpty, "it has its id")
        try later.act(Post.set(2), on: later.session("s"))
        #expect(later.transcript(reader).events.map(\.name) == ["a"])
        #expect(later.transcript(reader).events.first?.id == "\(session.generation.text).3")
    }

    @Test(arguments: Simulation.selections)
    func `every position of the previous life is resumed from the journal`(
        selection: Selection
    ) throws {
        let rig = Rig(answers: true, snapshotEvery: 4)
        let session = try rig.create("s", .ledger())
        let uncut = rig.subscribe(session, selection, .now)
        let start = session.position.text
        for body in [Post.several(3), Post.say("x"), Post.name("n"), Post.touch, Post.both(1, 2)] {
            try rig.act(body, on: session)
        }
        let all = rig.output.bytes(of: uncut)
        for cut in Array("id: \(start)\n\n".utf8).count...all.count {
            let seen = Transcript(all[..<cut])
            let later = try next(rig)
            let reader = later.subscribe(try woken(later), selection, .after(seen.lastEventID))
            later.drainInbox()
            later.drainInbox()
            later.drainInbox()
            later.drainInbox()
            let resumed = later.transcript(reader)
            #expect(seen.events + resumed.events == Transcript(all).events)
        }
    }

    @Test(arguments: [false, true])
    func `case 155: a partly sent heartbeat is finished before events of the journal`(
        isChunked: Bool
    ) throws {
        let rig = Rig(answers: true)
        let start = try rig.create("s", .ledger()).position.text
        for a in 1...3 { try rig.act(Post.set(a), on: rig.session("s")) }
        let later = try next(rig)
        var selection = Selection.allPulses
        selection.isChunked = isChunked
        let reader = later.subscribe(try woken(later), selection, .after(start))
        // The slice has been requested.
        #expect(later.output.bytes(of: reader).isEmpty)
        later.output.holdBack("ng\n", of: reader)
        for _ in 1...4 { later.drainInbox() }
        later.output.setCapacity(nil, of: reader)
        for _ in 1...4 { later.drainInbox() }
        let bytes = later.output.bytes(of: reader)
        #expect(bytes.starts(with: Array("ng\n".utf8)), "nothing comes before its rest")
        #expect(Transcript(bytes.dropFirst(3)).events.map(\.data) == ["1", "2", "3"])
    }

    @Test(arguments: Simulation.selections)
    func `a commit whose session has no result yet is shown once`(
        selection: Selection
    ) throws {
        let rig = Rig(answers: true)
        let start = try rig.create("s", .ledger()).position.text
        // A reader from the beginning needs more than one slice of the journal.
        for _ in 1...3 { try rig.act(Post.fill(60_000), on: rig.session("s")) }
        try rig.act(Post.say("last"), on: rig.session("s"))
        let later = try next(rig)
        let session = try woken(later)
        let uncut = later.subscribe(session, selection, .now)
        let reader = later.subscribe(session, selection, .after(start))
        later.drainInbox()
        later.journal.setImmediate(false)
        try later.act(Post.all(Post.several(2), Post.say("x"), Post.name("n")), on: session)
        let reportEnd = later.journal.writeNext()
        for _ in 1...8 { later.drainInbox() }
        reportEnd()
        for _ in 1...8 { later.drainInbox() }

        let heard = later.transcript(reader).events
        #expect(Set(heard.map(\.id)).count == heard.count)
        let live = later.transcript(uncut).events
        #expect(!live.isEmpty)
        #expect(heard.suffix(live.count) == live)
        let fresh = later.subscribe(session, selection, .after(start))
        for _ in 1...8 { later.drainInbox() }
        #expect(later.transcript(fresh).events == heard)
    }

    @Test func `readers that return together share journal reads, each at its own pace`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        let start = session.position.text
        // Several slices of the journal.
        for number in 1...400 {
            try rig.act(Post.both(number, number), on: session)
            try rig.act(Post.say("\(number)" + String(repeating: "x", count: 1_000)), on: session)
        }
        let whole = try answers(of: next(rig), start, readers: 1)
        let many = try answers(of: next(rig), start, readers: 40)
        #expect(whole.questions > 3)
        #expect(many.questions == whole.questions)
        #expect(many.lines == Array(repeating: whole.lines[0], count: 40))

        // One reader is slow and one leaves; neither delays the others.
        let later = try next(rig)
        let there = try woken(later)
        let slow = later.subscribe(there, .allPulses, .after(start), capacity: 700)
        let gone = later.subscribe(there, .allPulses, .after(start))
        let quick = later.subscribe(there, .allPulses, .after(start))
        later.output.disconnect(gone)
        while !later.inbox.isEmpty { later.drainInbox() }
        #expect(later.lines(quick) == whole.lines[0])
        #expect(later.lines(slow).count < whole.lines[0].count)
        later.output.setCapacity(nil, of: slow)
        while !later.inbox.isEmpty { later.drainInbox() }
        #expect(later.lines(slow) == whole.lines[0])
    }

    @Test func `of readers that return together, a few are served in each round of the loop`()
        throws
    {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        let start = session.position.text
        for number in 1...20 { try rig.act(Post.fill(number), on: session) }
        let later = try next(rig)
        let there = try woken(later)
        let tokens = (0..<30).map { _ in later.subscribe(there, .allPulses, .after(start)) }
        func served() -> Int { tokens.count { later.lines($0).count > 0 } }
        var (rounds, most, before) = (0, 0, served())
        #expect(before == 0)
        while case let jobs = later.inbox.drain(), !jobs.isEmpty {
            for job in jobs { job(later.table) }
            most = max(most, served() - before)
            before = served()
            rounds += 1
        }
        #expect(before == 30)
        #expect(most <= 4)
        #expect(rounds >= 8)
        #expect(Set(tokens.map { later.lines($0) }).count == 1)
    }

    /// The replies to readers that return together, and the number of reads of the journal.
    private func answers(
        of rig: Rig, _ start: String, readers: Int
    ) throws -> (lines: [[String]], questions: Int) {
        let session = try woken(rig)
        let before = rig.journal.state.withLock { $0.questions }
        let tokens = (0..<readers).map { _ in rig.subscribe(session, .allPulses, .after(start)) }
        while !rig.inbox.isEmpty { rig.drainInbox() }
        let after = rig.journal.state.withLock { $0.questions }
        return (tokens.map { rig.lines($0) }, after - before)
    }

    @Test func `a deleted session stays deleted`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        _ = rig.end(session)
        rig.endRound()
        guard case .ended = try next(rig).wake("s") else {
            Issue.record("410 is for good")
            return
        }
    }

    @Test func `an old state is rebuilt from the journal`() throws {
        let rig = Rig(answers: true, retention: Retention(records: 2), snapshotEvery: 3)
        let session = try rig.create("s", .ledger())
        for number in 1...9 { try rig.act(Post.set(number), on: session) }
        for version in 0...9 {
            let token = rig.read(session, version: UInt64(version))
            for _ in 0..<9 { rig.drainInbox() }
            guard case .state(let state, UInt64(version))? = rig.answer(token)?.kind else {
                Issue.record("version \(version) is kept: \(rig.line(token))")
                continue
            }
            #expect(String(decoding: state, as: UTF8.self).hasPrefix("{\"a\":\(version),"))
        }
    }

    @Test func `an unreadable journal is an error reply and does not end the session`() throws {
        let rig = Rig(answers: true)
        try rig.create("s", .ledger())
        let later = try next(rig)
        rig.journal.setUnreadable(.unavailable)
        guard case .unreadable = try later.wake("s") else {
            Issue.record("nobody knows whether it is there")
            return
        }
        rig.journal.setUnreadable(nil)
        #expect(try woken(later).version == 0)
    }
}

@Suite(
    "Contract §4 — a session that can't be rebuilt is quarantined, not lost",
    .timeLimit(.minutes(60)))
struct QuarantineTests {
    private func fault(_ rig: Rig) throws -> RecoveryFault {
        guard case .quarantined(let fault) = try rig.wake("s") else {
            throw Rig.NoSession(id: "s")
        }
        return fault
    }

    @Test func `a mutation that does not decode is named, and other sessions are unaffected`()
        throws
    {
        let rig = Rig(answers: true)
        try rig.act(Post.set(1), on: rig.create("s", .ledger()))
        try rig.act(Post.set(1), on: rig.create("t", .ledger()))
        rig.journal.edit { batch in
            let index = batch.records.firstIndex { $0.session == "s" && $0.kind == .mutation }
            if let index { batch.records[index].content = Array(#"{"type":"gone"}"#.utf8) }
        }
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try fault(later).place == "the mutation of version 1")
        guard case .session = try later.wake("t") else {
            Issue.record("t is as it was")
            return
        }
    }

    /// The records up to the snapshot's would be written again and not be read.
    @Test func `a snapshot of a record that the session has not reached is a fault`() throws {
        let rig = Rig(answers: true, snapshotEvery: 1)
        try rig.act(Post.set(1), on: rig.create("s", .ledger()))
        rig.journal.edit { $0.snapshots[$0.snapshots.count - 1].number += 2 }
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try fault(later).reason == "it is of record 3, and the history ends at record 1")
    }

    @Test func `a session whose reactor is not hosted is reported, and recovers when it is again`()
        throws
    {
        let rig = Rig(answers: true)
        try rig.act(Post.set(1), on: rig.create("s", .ledger()))
        let without = Rig(journal: rig.journal)
        #expect(try fault(without).reason == "nothing is hosted here as ledger")
        let healed = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let session) = try healed.wake("s") else {
            Issue.record("a later deployment can read it")
            return
        }
        #expect(session.version == 1)
    }

    @Test func `older states and mutations are migrated and saved again`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of("growing") { OldGrowth() })
        try rig.act(#"{"add":{"_0":2}}"#, on: session)
        try rig.act(#"{"add":{"_0":3}}"#, on: session)
        let later = Rig(journal: rig.journal, registrations: [try .of("growing") { NewGrowth() }])
        guard case .session(let grown) = try later.wake("s") else {
            Issue.record("it is migrated")
            return
        }
        #expect(later.state(grown) == #"{"sum":5,"unit":"m"}"#)
        #expect(later.journal.keptBatch.snapshots.last?.stateVersion == 2)
        try later.act(#"{"add":{"centimetres":400}}"#, on: grown)
        let last = Rig(journal: rig.journal, registrations: [try .of("growing") { NewGrowth() }])
        guard case .session(let again) = try last.wake("s") else {
            Issue.record("mutations of the new form follow the new snapshot")
            return
        }
        #expect(last.state(again) == #"{"sum":9,"unit":"m"}"#)
    }

    /// The next program, whose commits wait for the test, with the first of them submitted.
    private func grown() throws -> (Rig, Session) {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of("growing") { OldGrowth() })
        try rig.act(#"{"add":{"_0":2}}"#, on: session)
        rig.journal.setImmediate(false)
        let later = Rig(journal: rig.journal, registrations: [try .of("growing") { NewGrowth() }])
        let grown = try woken(later)
        later.endRound()
        #expect(later.journal.pendingCount == 1)
        return (later, grown)
    }

    private func woken(_ rig: Rig) throws -> Session {
        guard case .session(let session) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        return session
    }

    // Skipped, it left a state of the old form before mutations of the new one.
    @Test func `nothing is committed after the snapshot of a new form that fails`() throws {
        let (rig, session) = try grown()
        let post = try rig.act(#"{"add":{"centimetres":300}}"#, on: session)
        rig.settle(.full)
        #expect(rig.line(post) == "failed full v1 n1")
        rig.settleAll()
        #expect(rig.journal.kept.map(\.number) == [0, 1])
        let again = try woken(rig)
        let next = try rig.act(#"{"add":{"centimetres":400}}"#, on: again)
        rig.settleAll()
        #expect(rig.line(next) == "received v2 n2")
        let last = Rig(journal: rig.journal, registrations: [try .of("growing") { NewGrowth() }])
        #expect(try last.state(woken(last)) == #"{"sum":6,"unit":"m"}"#)
    }

    @Test func `a post after the snapshot of a new form is committed before the process ends`()
        throws
    {
        let (rig, session) = try grown()
        let post = try rig.post(#"{"add":{"centimetres":300}}"#, to: session)
        var isSaved = false
        rig.table.save { isSaved = true }
        #expect(rig.journal.pendingCount == 1)
        rig.settle()
        #expect(!isSaved)
        rig.settleAll()
        #expect(isSaved)
        #expect(rig.line(post) == "received v2 n2")
    }
}

/// Says a text at once, and once more after each restart.
private struct Speaker: Reactor {
    enum Action: TaggedCodable, Sendable { case say(text: String) }
    enum Mutation: TaggedCodable, Sendable { case said(text: String) }
    struct State: Codable, Sendable { @Pulse var text = "" }

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        let text =
            switch action {
            case .say(let text): text
            }
        return .concat(
            .just(.said(text: text)),
            .run { _ in
                let never = AsyncStream<Void> { _ in }
                for await _ in never {}
            })
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .said(let text): state.text = text
        }
    }

    func recovery(of action: Action) -> Recovery { .runAgain }
}
