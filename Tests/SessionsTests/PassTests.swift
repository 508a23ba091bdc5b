import JSONCoding
import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "Work has a bound — a pass of the loop works on one large state", .timeLimit(.minutes(60)))
struct PassTests {
    /// More than is encoded with its record.
    private static let size = 300_000

    /// A rig whose passes have room for less than one state.
    private func rig(
        sessions count: Int = 1, slow: Bool = false, retention: Retention = Retention(),
        answers: Bool = true, uncommittedBytes: Int = 64 << 20,
        work: WorkBudget = WorkBudget()
    ) throws -> (Rig, [Session]) {
        let rig = Rig(
            slow: slow, answers: answers, registrations: [try .sized()], retention: retention,
            uncommittedBytes: uncommittedBytes, work: work)
        rig.table.pass.limitBytes = Self.size / 2
        let sessions = try (0..<count).map { try rig.create("s\($0)", .sized()) }
        rig.settleAll()
        for session in sessions { try grow(rig, session) }
        rig.runPasses()
        rig.table.pass.most = 0
        return (rig, sessions)
    }

    private func grow(_ rig: Rig, _ session: Session, to size: Int = PassTests.size) throws {
        try rig.act(#"{"size":\#(size)}"#, on: session)
        rig.settleAll()
    }

    @Test func `streams that open together encode and search a state once`() throws {
        let (rig, sessions) = try rig()
        try Sized.State.$encoded.withValue(CallCounter()) {
            let readers = try (0..<40).map {
                rig.subscribe(sessions[0], try .part("/none\($0)"))
            }
            let size = rig.subscribe(sessions[0], try .part("/size"))
            rig.runPasses()
            for reader in readers { #expect(rig.lines(reader).map(\.last) == ["l"]) }
            #expect(rig.lines(size).first?.hasSuffix("\(Self.size)") == true)
            #expect(Sized.State.encoded?.count == 1)
        }
        // The state is encoded and searched.
        #expect(rig.table.pass.most < 2 * Self.size + 1_000)
    }

    // At such a node the state leaves memory once the streams are open, so they do not wait for a
    // later pass.
    @Test func `streams that open together at a node that follows search a state once`() throws {
        let rigs = ClusterRig(2, [try .sized()])
        let session = try rigs[0].create("s", .sized())
        rigs.settle()
        // Makes the newest snapshot large.
        for number in 0..<8 {
            _ = try rigs.post(#"{"size":\#(Self.size + number)}"#, to: session, at: 0)
        }
        let size = try rigs.request("s", at: 1, .part("/size"))
        let readers = try (0..<20).map { try rigs.request("s", at: 1, .part("/none\($0)")) }
        rigs[1].table.pass.most = 0
        Sized.State.$encoded.withValue(CallCounter()) {
            rigs.settle()
            #expect(Sized.State.encoded?.count == 1)
        }
        for reader in readers { #expect(rigs[1].lines(reader).map(\.last) == ["l"]) }
        #expect(rigs[1].lines(size).first?.hasSuffix("\(Self.size + 7)") == true)
        // The state is read, encoded and searched.
        #expect(rigs[1].table.pass.most < 4 * Self.size)
        // The streams get later events.
        _ = try rigs.post(#"{"size":7}"#, to: session, at: 0)
        rigs.look(at: 1)
        #expect(rigs[1].lines(size).last?.hasSuffix(" 7") == true)
    }

    @Test func `a stream that waits to be opened gets what has become of its session`() throws {
        let (rig, sessions) = try rig()
        let selection = try Selection.part("/size")
        let lost = rig.subscribe(sessions[0], selection)
        rig.output.lose(lost)
        let present = rig.subscribe(sessions[0], selection)
        #expect(!sessions[0].isAtRest)
        _ = rig.end(sessions[0])
        rig.settleAll()
        rig.runPasses()
        #expect(rig.line(present).hasPrefix("gone"))
        #expect(rig.table.subscriberCount == 0)
    }

    @Test func `the states of sessions that are committed together are framed in turns`() throws {
        let (rig, sessions) = try rig(sessions: 12, slow: true)
        let readers = sessions.map { rig.subscribe($0, .allStates, .now) }
        for session in sessions { try rig.post(#"{"size":\#(Self.size + 1)}"#, to: session) }
        rig.runPass()
        rig.table.pass.most = 0
        rig.journal.endNext()
        rig.runPasses()
        for reader in readers {
            #expect(rig.lines(reader).filter { $0.hasPrefix("state") }.count == 1)
        }
        // A state is encoded, and framed.
        #expect(rig.table.pass.most < 3 * Self.size)
    }

    @Test func `parts of many versions are framed for all streams in bounded passes`() throws {
        let (rig, sessions) = try rig(slow: true)
        let nothing = try (0..<40).map { try rig.subscribe(sessions[0], .part("/none\($0)"), .now) }
        let size = rig.subscribe(sessions[0], try .part("/size"), .now)
        rig.runPasses()
        let batch = (1...5).map { #"{"size":\#(Self.size + $0)}"# }.joined(separator: ",")
        try rig.post("[\(batch)]", to: sessions[0])
        rig.runPass()
        rig.table.pass.most = 0
        Sized.State.$encoded.withValue(CallCounter()) {
            rig.journal.endNext()
            rig.runPasses()
            // The state before them, and each of them.
            #expect(Sized.State.encoded?.count == 6)
        }
        #expect(rig.lines(size).filter { $0.hasPrefix("state") }.count == 5)
        #expect(nothing.allSatisfy { rig.lines($0).allSatisfy { !$0.hasPrefix("state") } })
        #expect(rig.table.pass.most < 2 * Self.size + 10_000)
    }

    @Test func `a state is framed for many streams in bounded passes`() throws {
        let (rig, sessions) = try rig(slow: true)
        let readers = (1...12).map {
            rig.subscribe(sessions[0], Selection(pulses: $0, states: .whole), .now)
        }
        try rig.post(#"{"size":\#(Self.size + 1)}"#, to: sessions[0])
        rig.runPass()
        rig.table.pass.most = 0
        rig.journal.endNext()
        rig.runPasses()
        for reader in readers {
            #expect(rig.lines(reader).filter { $0.hasPrefix("state") }.count == 1)
        }
        // It is encoded, and framed for one of them.
        #expect(rig.table.pass.most < 3 * Self.size)
    }

    @Test func `states that were encoded with their records are framed in turns`() throws {
        let size = StateFraming.aheadBytes - 10_000
        let (rig, sessions) = try rig(sessions: 12, slow: true)
        for session in sessions { try grow(rig, session, to: size - 1) }
        rig.runPasses()
        let readers = sessions.map { rig.subscribe($0, .allStates, .now) }
        for session in sessions { try rig.post(#"{"size":\#(size)}"#, to: session) }
        rig.runPass()
        rig.journal.endNext()
        for job in rig.inbox.drain() { job(rig.table) }
        // One pass has room for one of them, although none is encoded in it.
        #expect(sessions.count { $0.feed.isFraming } == sessions.count - 1)
        rig.runPasses()
        for reader in readers {
            #expect(rig.lines(reader).filter { $0.hasPrefix("state") }.count == 1)
        }
    }

    @Test func `idle sessions are saved by the bytes of their states`() throws {
        let (rig, sessions) = try rig(sessions: 8)
        let large = rig.journal.keptBatch.snapshots.count
        for _ in 0..<5 {
            var areMore = rig.table.tick()
            rig.runPasses()
            while areMore {
                areMore = rig.table.continueTick()
                rig.runPasses()
            }
        }
        #expect(rig.journal.keptBatch.snapshots.count == large + sessions.count)
        #expect(rig.table.pass.most < 2 * Self.size)
        rig.table.tick()
        #expect(rig.table.awakeCount == 0)
    }

    @Test func `idle sessions are not saved while much waits for the journal`() throws {
        let (rig, sessions) = try rig(sessions: 6, slow: true)
        rig.table.pass.limitBytes = .max
        for session in sessions { try grow(rig, session, to: 4 << 20) }
        for _ in 0..<6 { rig.table.tick() }
        rig.endRound()
        // Snapshots of 16 MiB, and the one that exceeds them.
        #expect(rig.table.commits.waitingBytes <= 21 << 20)
        #expect(rig.table.commits.waitingBytes >= 16 << 20)
        for _ in 0..<6 {
            rig.settleAll()
            rig.table.tick()
        }
        #expect(rig.table.awakeCount == 0)
    }

    @Test func `the end saves small states first, and large ones up to a limit`() throws {
        let (rig, sessions) = try rig(sessions: 6)
        for session in sessions.dropLast() { try grow(rig, session, to: 4_000_000) }
        let before = rig.journal.keptBatch.snapshots.count
        rig.table.save {}
        rig.settleAll()
        let saved = rig.journal.keptBatch.snapshots.dropFirst(before)
        #expect(saved.map(\.session).contains("s5"))
        #expect((2...5).contains(saved.count))
        #expect(saved.reduce(0) { $0 + $1.state.count } <= 16 << 20)
    }

    @Test(arguments: [false, true])
    func `a fork counts until it is committed, and posts wait for its bytes`(_ fails: Bool) throws {
        let work = WorkBudget(limit: 1_000_000, clientLimit: 1_000_000)
        let (rig, sessions) = try rig(slow: true, uncommittedBytes: Self.size, work: work)
        try fork(rig, sessions[0])
        #expect(rig.table.commits.waitingBytes >= Self.size)
        #expect(throws: ActionRefusal.self) { try rig.post(#"{"size":1}"#, to: sessions[0]) }
        rig.runPass()
        #expect(work.used >= 2 * Self.size)
        rig.settle(fails ? .full : nil)
        rig.output.forgetAnswers()
        #expect(work.used == 0)
        try rig.post(#"{"size":1}"#, to: sessions[0])
    }

    private func fork(_ rig: Rig, _ session: Session) throws {
        let id = try #require(SessionID("fork"))
        var exported: SessionExport?
        session.export(nil) { exported = try? $0.get() }
        let export = try #require(exported)
        var saved = SavedSession(
            key: SessionKey(session: "fork", generation: ""), reactor: "sized")
        saved.snapshot = export.snapshot
        saved.snapshot?.number = 0
        saved.snapshot?.version = 0
        let registration = try Registration.sized()
        try Sized.State.$encoded.withValue(CallCounter()) {
            try rig.table.create(
                id, registration, for: rig.nextToken(), from: saved, charge: export.charge)
            // Its first snapshot is what was exported.
            #expect(Sized.State.encoded?.count == 0)
        }
    }

    @Test func `a reset while states are being framed shows the newest one, and later ones once`()
        throws
    {
        // Nothing is kept for a reader that does not read.
        let work = WorkBudget(limit: 3 * Self.size / 2, clientLimit: .max / 4)
        let (rig, sessions) = try rig(slow: true, answers: false, work: work)
        let session = sessions[0]
        let live = rig.subscribe(session, .allStates, .now)
        let blocked = rig.subscribe(session, .allStates, .now, capacity: 0)
        try grow(rig, session, to: Self.size + 1)
        let batch = (2...9).map { #"{"size":\#(Self.size + $0)}"# }.joined(separator: ",")
        try rig.post("[\(batch)]", to: session)
        rig.table.commit()
        rig.journal.endNext()
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(session.feed.isFraming)
        rig.output.setCapacity(nil, of: blocked)
        rig.runPasses()
        try grow(rig, session, to: Self.size + 10)
        rig.runPasses()
        for reader in [live, blocked] {
            // A reset has no id of its own.
            let ids = rig.transcript(reader).events.filter { $0.name != "reset" }.map(\.id)
            #expect(Set(ids).count == ids.count)
            #expect(ids.last == session.position.text)
        }
        #expect(rig.transcript(live).events.allSatisfy { $0.name != "reset" })
        let kinds = rig.lines(blocked).compactMap { $0.split(separator: " ").first }
        #expect(kinds.suffix(3) == ["reset", "snapshot", "state"])
    }

    /// A session whose streams have framed a few versions of a batch.
    private func lagging(_ count: Int, answers: Bool) throws -> (Rig, Session, reader: UInt64) {
        let (rig, sessions) = try rig(
            slow: true, retention: Retention(records: 300, bytes: 64 << 20), answers: answers)
        let reader = rig.subscribe(sessions[0], .allStates, .now)
        let batch = (1...count).map { #"{"size":\#(Self.size + $0)}"# }.joined(separator: ",")
        try rig.post("[\(batch)]", to: sessions[0])
        rig.table.commit()
        rig.journal.endNext()
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(sessions[0].feed.isFraming)
        return (rig, sessions[0], reader)
    }

    @Test(arguments: [false, true])
    func `a stream that opens while states are being framed resets nobody`(_ answers: Bool) throws {
        let (rig, session, reader) = try lagging(9, answers: answers)
        let generation = session.position.generation.text
        let snapshot = rig.subscribe(session, .allStates)
        let present = rig.subscribe(session, .allStates, .now)
        // Of a version that is not framed, and of one that is.
        let later = rig.subscribe(session, .allStates, .after("\(generation).8"))
        let earlier = rig.subscribe(session, .allStates, .after("\(generation).2"))
        #expect(session.feed.isFraming)
        rig.runPasses()
        try grow(rig, session, to: Self.size + 10)
        rig.runPasses()
        func ids(_ reader: UInt64) -> [String] {
            rig.transcript(reader).events.compactMap { $0.name == "state" ? $0.id : nil }
        }
        func positions(_ numbers: ClosedRange<Int>) -> [String] {
            numbers.map { "\(generation).\($0)" }
        }
        #expect(ids(reader) == positions(2...11))
        #expect(ids(earlier) == positions(3...11))
        #expect(ids(later) == positions(9...11))
        #expect(ids(present) == positions(11...11))
        #expect(ids(snapshot) == positions(11...11))
        let opening = rig.transcript(snapshot).events.first
        #expect(opening?.name == "snapshot")
        #expect(opening?.id == "\(generation).10")
        for token in [reader, earlier, later, present, snapshot] {
            #expect(rig.transcript(token).events.allSatisfy { $0.name != "reset" })
        }
        // This is never more work than framing one state.
        #expect(rig.table.pass.most < 4 * Self.size + 1_000)
    }

    @Test(arguments: [false, true])
    func `a session that is deleted while states are being framed ends after them`(
        _ answers: Bool
    ) throws {
        let (rig, session, reader) = try lagging(9, answers: answers)
        let blocked = rig.subscribe(session, .allStates, .now, capacity: 0)
        let ended = rig.end(session)
        rig.table.commit()
        rig.journal.endNext()
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(rig.line(ended).hasPrefix("ended"))
        #expect(rig.line(rig.read(session)).hasPrefix("gone"))
        rig.runPasses()
        rig.output.setCapacity(nil, of: blocked)
        rig.runPasses()
        let names = rig.transcript(reader).events.map(\.name)
        #expect(names.filter { $0 == "state" }.count == 9)
        #expect(!names.contains("reset"))
        #expect(names.last == "end")
        #expect(rig.transcript(blocked).events.map(\.name) == ["end"])
        #expect(rig.table.subscriberCount == 0)
        #expect(throws: Rig.NoSession.self) { try rig.session("s0") }
    }
}

extension Rig {
    /// Runs the jobs that are in the inbox, and ends the round.
    func runPass() {
        for job in inbox.drain() { job(table) }
        table.commit()
        _ = table.deliver()
    }

    /// Runs passes until nothing is left to do.
    func runPasses() {
        repeat { runPass() } while !inbox.isEmpty
        deliverAll()
    }
}
