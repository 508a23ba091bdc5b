import Feeds
import TestRandomness
import Sessions
import Storage
import Testing

@Suite(
    "Contract §4 — acknowledged actions survive any end of the process, once and in order",
    .timeLimit(.minutes(60)))
struct RestartSimulationTests {
    @Test(arguments: Seeds.range(400))
    func `a random life with crashes, sleep and a failing disk keeps every promise`(
        seed: UInt64
    ) throws {
        var life = try RestartSimulation(seed: seed)
        for _ in 0..<150 { try life.step() }
        try life.finish()
    }
}

/// A random life of two sessions, over several processes on one journal.
struct RestartSimulation {
    private var generator: SeededGenerator
    private let seed: UInt64
    private var rig: Rig
    private let retention: Retention
    private let snapshotEvery: Int
    private var readers: [(session: String, reader: Reader)] = []
    /// The number that marks each post, by its token; the same for every attempt with one key.
    private var posted: [UInt64: Int] = [:]
    private var lastMark = 0
    /// A keyed request without a reply is sent again.
    private var unsure: [(mark: Int, session: String, body: String)] = []

    init(seed: UInt64) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        retention = Retention(
            records: [3, 20, 1_000].randomElement(using: &generator) ?? 3,
            bytes: [50, 400, 100_000].randomElement(using: &generator) ?? 50)
        snapshotEvery = [1, 7, 50].randomElement(using: &generator) ?? 7
        rig = Rig(
            slow: true, answers: true, registrations: [try .ledger()], retention: retention,
            snapshotEvery: snapshotEvery)
        try rig.create("s", .ledger())
        try rig.create("t", .ledger())
        rig.settleAll()
    }

    /// The session, loaded from the journal if necessary.
    private func session(_ id: String) throws -> Session {
        if let session = try? rig.session(id) { return session }
        guard case .session(let session) = try rig.wake(id) else { throw Rig.NoSession(id: id) }
        return session
    }

    private mutating func anyID() -> String { Bool.random(using: &generator) ? "s" : "t" }

    mutating func step() throws {
        switch Int.random(in: 0..<17, using: &generator) {
        case 0...3: try post()
        case 4, 5: rig.endRound()
        case 6, 7: rig.settle()
        case 8: fail()
        case 9: try subscribe()
        case 10: try cut()
        case 11, 12: give()
        case 13: for _ in 0..<5 { rig.table.tick(); rig.settleAll() }
        case 14: try crash()
        case 15: rig.drainInbox()
        default: try read()
        }
    }

    private mutating func post() throws {
        if let index = unsure.indices.randomElement(using: &generator) {
            let again = unsure.remove(at: index)
            return try post(again.body, again.mark, to: again.session)
        }
        lastMark += 1
        let mark = 1_000_000 + lastMark
        let body = Post.all(
            Post.set(mark), Simulation.body(&generator), Simulation.body(&generator))
        try post(body, mark, to: anyID())
    }

    /// Every post has a key, its mark, and is sent again until it gets a reply.
    private mutating func post(_ body: String, _ mark: Int, to id: String) throws {
        let token = try rig.post(body, to: session(id), key: "\(id) \(mark)")
        posted[token] = mark
        if Bool.random(using: &generator) { unsure.append((mark, id, body)) }
    }

    /// A batch fails together with all that were submitted before the failure was known; or it is
    /// written and reported as failed.
    private mutating func fail() {
        let count = rig.journal.pendingCount
        guard count > 0, Int.random(in: 0..<2, using: &generator) == 0 else { return rig.settle() }
        let isWritten = Bool.random(using: &generator)
        for index in 0..<count {
            rig.journal.endNext(
                isWritten ? .outcomeUnknown : .unavailable, isWritten: isWritten && index == 0)
            rig.drainInbox()
            rig.endRound()
        }
    }

    private mutating func crash() throws {
        rig.journal.crash(writing: Int.random(in: 0...3, using: &generator))
        rig.output.breakAll()
        rig.table.stop()
        rig = Rig(
            after: rig, registrations: [try .ledger()], retention: retention,
            snapshotEvery: snapshotEvery)
        for index in readers.indices { try reconnect(index) }
    }

    private mutating func subscribe() throws {
        let reader = Reader(Simulation.selections.randomElement(using: &generator) ?? .allPulses)
        readers.append((anyID(), reader))
        try reconnect(readers.count - 1)
    }

    private mutating func reconnect(_ index: Int) throws {
        let fromNow = Bool.random(using: &generator)
        let capacity = capacity()
        let session = try session(readers[index].session)
        readers[index].reader.connect(rig, to: session, capacity: capacity, fromNow: fromNow)
    }

    private mutating func cut() throws {
        guard let index = readers.indices.randomElement(using: &generator) else { return }
        readers[index].reader.disconnect(rig)
        try reconnect(index)
    }

    private mutating func give() {
        guard let one = readers.randomElement(using: &generator),
            let token = one.reader.connections.last?.token
        else { return }
        rig.output.setCapacity(capacity(), of: token)
    }

    private mutating func read() throws {
        let session = try session(anyID())
        let version = UInt64.random(in: 0...max(session.version, 1), using: &generator)
        _ = rig.read(session, version: Bool.random(using: &generator) ? version : nil)
    }

    private mutating func capacity() -> Int? {
        Bool.random(using: &generator) ? nil : Int.random(in: 0..<300, using: &generator)
    }

    // MARK: The oracle

    mutating func finish() throws {
        rig.settleAll()
        for index in readers.indices {
            // A disconnected reader resumes with its id.
            readers[index].reader.disconnect(rig)
            readers[index].reader.connect(
                rig, to: try session(readers[index].session), capacity: nil, fromNow: false)
        }
        settle()
        for id in ["s", "t"] {
            let session = try session(id)
            let truth = try Truth(rig.journal.all, of: session)
            #expect(truth.isGapless, "seed \(seed)")
            #expect(rig.state(session) == truth.states.last, "seed \(seed)")
            #expect(session.version == UInt64(truth.states.count - 1), "seed \(seed)")
            for (_, reader) in readers.filter({ $0.session == id }) {
                reader.check(rig, against: truth, "seed \(seed)", mayReset: false)
            }
        }
        checkAnswers()
    }

    /// Runs until no job arrives and nothing is pending.
    private func settle() {
        repeat {
            rig.drainInbox()
            rig.settleAll()
        } while !rig.inbox.isEmpty
    }

    /// Acknowledged: there exactly once. Not acknowledged: there once or not at all.
    private func checkAnswers() {
        let marks = rig.journal.kept.flatMap(\.events).filter { $0.name == "a" }
            .compactMap { Int(String(decoding: $0.data, as: UTF8.self)) }
        for mark in Set(posted.values) {
            let count = marks.count { $0 == mark }
            #expect(count <= 1, "mark \(mark); seed \(seed)")
        }
        let tokens = rig.output.answers.map(\.token)
        #expect(tokens.count == Set(tokens).count, "nobody is answered twice; seed \(seed)")
        for answer in rig.output.answers {
            guard let mark = posted[answer.token] else { continue }
            switch answer.content.kind {
            case .received, .replayed:
                #expect(marks.contains(mark), "mark \(mark); seed \(seed)")
            default: break
            }
        }
    }
}
