import Feeds
import TestRandomness
import Sessions
import Storage
import Testing

@Suite(
    "Contract §3, §4 — acknowledged actions are there once and in order",
    .timeLimit(.minutes(60)))
struct SimulationTests {
    @Test(arguments: Seeds.range(300))
    func `a random life keeps every promise`(seed: UInt64) throws {
        var life = try Simulation(seed: seed)
        for _ in 0..<120 { try life.step() }
        try life.finish()
    }

    @Test func `readers move to another loop in these lives, and lag there`() throws {
        var (moves, lags) = (0, 0)
        for seed in 0..<90 as Range<UInt64> {
            var life = try Simulation(seed: seed)
            for _ in 0..<120 { try life.step() }
            moves += life.second?.moves ?? 0
            lags += life.second?.lags ?? 0
        }
        #expect(moves > 100)
        #expect(lags > 10)
    }

    @Test(arguments: 1_000..<1_012 as Range<UInt64>, [false, true])
    func `a stream cut at any byte resumes with exactly the missing bytes`(
        seed: UInt64, isChunked: Bool
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        // A patch is shown whole if its stream is framed again.
        let selections = Simulation.selections.filter { !$0.asPatches }
        var selection = selections[Int(seed) % selections.count]
        selection.isChunked = isChunked
        let uncut = rig.subscribe(session, selection, .now)
        let start = session.position.text
        for _ in 0..<8 { try rig.act(Simulation.body(&generator), on: session) }
        let all = rig.output.bytes(of: uncut)
        let block = "id: \(start)\n\n"
        let size = String(block.utf8.count, radix: 16)
        let primed = Array((isChunked ? "\(size)\r\n\(block)\r\n" : block).utf8)
        #expect(all.starts(with: primed))
        if seed % 2 == 0 { rig.output.disconnect(uncut) }
        for cut in primed.count...all.count {
            let seen = Transcript(all[..<cut])
            let reader = rig.subscribe(session, selection, .after(seen.lastEventID))
            let missed = rig.output.bytes(of: reader)
            #expect(all.suffix(missed.count).elementsEqual(missed))
            #expect(seen.events + Transcript(missed).events == Transcript(all).events)
            rig.output.disconnect(reader)
        }
    }
}

/// One random life of two sessions with their readers.
struct Simulation {
    static let selections: [Selection] = [
        .allPulses, .allActivities, .allStates, .everything, .log,
        Selection(pulses: .max, activities: true), .everythingAsPatches,
        (try? .part("/name")) ?? .allStates,
    ]

    private var generator: SeededGenerator
    private let seed: UInt64
    private let rig: Rig
    private let sessions: [Session]
    private var readers: [(session: Int, reader: Reader)] = []
    /// The number that marks each post, by its token.
    private var posted: [UInt64: Int] = [:]
    private var lastMark = 0

    var second: SecondLoop? { rig.second }

    init(seed: UInt64) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        let retention = Retention(
            records: [3, 20, 1_000].randomElement(using: &generator) ?? 3,
            bytes: [50, 400, 100_000].randomElement(using: &generator) ?? 50)
        // By the seed, so that the rest of a life does not depend on it.
        rig = Rig(
            slow: true, retention: retention, replicasFrom: [Int.max, 0, 1][Int(seed % 3)])
        try rig.create("s", .ledger())
        try rig.create("t", .ledger())
        rig.settleAll()
        sessions = [try rig.session("s"), try rig.session("t")]
        // With a state beside which a patch is small.
        rig.table.pass.patchedBytes = 1...4_096
        try rig.post(Post.fill(400), to: sessions[1])
        rig.settleAll()
    }

    static func body(_ generator: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: Post.touch
        case 1: Post.say("hello")
        case 2: Post.several(Int.random(in: 0..<9, using: &generator))
        case 3: Post.name(Bool.random(using: &generator) ? "n" : nil)
        case 4: Post.reset
        case 5: Post.nothing
        case 6: Post.fill(Int.random(in: 1..<90, using: &generator))
        default: Post.both(3, Int.random(in: 0..<9, using: &generator))
        }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<14, using: &generator) {
        case 0...3: try post()
        case 4, 5: rig.endRound()
        case 6, 7: rig.settle()
        case 8: fail()
        case 9: subscribe()
        case 10: cut()
        case 11, 12: give()
        default: read()
        }
    }

    private mutating func post() throws {
        lastMark += 1
        let body = Post.all(
            Post.set(1_000_000 + lastMark), Self.body(&generator), Self.body(&generator))
        let token = try rig.post(body, to: sessions[Int.random(in: 0..<2, using: &generator)])
        posted[token] = 1_000_000 + lastMark
    }

    /// A batch fails together with all that were submitted before the failure was known.
    private mutating func fail() {
        guard Int.random(in: 0..<3, using: &generator) == 0 else { return rig.settle() }
        let failure: JournalFailure = Bool.random(using: &generator) ? .full : .unavailable
        for _ in 0..<rig.journal.pendingCount { rig.settle(failure) }
    }

    private mutating func subscribe() {
        let session = Int.random(in: 0..<2, using: &generator)
        var reader = Reader(Self.selections.randomElement(using: &generator) ?? .allPulses)
        reader.connect(
            rig, to: sessions[session], capacity: capacity(),
            fromNow: Bool.random(using: &generator))
        readers.append((session, reader))
    }

    private mutating func cut() {
        guard let index = readers.indices.randomElement(using: &generator) else { return }
        readers[index].reader.disconnect(rig)
        readers[index].reader.connect(
            rig, to: sessions[readers[index].session], capacity: capacity(), fromNow: false)
    }

    private mutating func give() {
        guard let one = readers.randomElement(using: &generator),
            let token = one.reader.connections.last?.token
        else { return }
        rig.output.setCapacity(capacity(), of: token)
    }

    private mutating func read() {
        let session = sessions[Int.random(in: 0..<2, using: &generator)]
        let version = session.version
        _ = rig.read(session, version: Bool.random(using: &generator) ? version : nil)
    }

    private mutating func capacity() -> Int? {
        Bool.random(using: &generator) ? nil : Int.random(in: 0..<300, using: &generator)
    }

    // MARK: The oracle

    mutating func finish() throws {
        rig.settleAll()
        for (_, reader) in readers {
            if let token = reader.connections.last?.token {
                rig.output.setCapacity(nil, of: token)
            }
        }
        // Some go back to the loop of their session.
        rig.settleAll()
        let truths = try sessions.map { try Truth(rig.journal.all, of: $0) }
        for (session, truth) in zip(sessions, truths) {
            #expect(truth.isGapless, "seed \(seed)")
            #expect(rig.state(session) == truth.states.last, "seed \(seed)")
            #expect(session.version == UInt64(truth.states.count - 1), "seed \(seed)")
        }
        checkAnswers(truths)
        for (session, reader) in readers {
            reader.check(rig, against: truths[session], "seed \(seed)")
        }
    }

    private func checkAnswers(_ truths: [Truth]) {
        let marks = rig.journal.kept.flatMap(\.events).filter { $0.name == "a" }
            .compactMap { Int(String(decoding: $0.data, as: UTF8.self)) }
        let tokens = rig.output.answers.map(\.token)
        #expect(tokens.count == Set(tokens).count, "nobody is answered twice; seed \(seed)")
        #expect(UInt64(tokens.count) == rig.lastToken, "everybody is answered; seed \(seed)")
        for answer in rig.output.answers {
            if let mark = posted[answer.token] {
                let isKept = if case .received = answer.content.kind { true } else { false }
                let count = marks.count { $0 == mark }
                #expect(count == (isKept ? 1 : 0), "seed \(seed)")
            }
            guard case .state(let state, let version) = answer.content.kind else { continue }
            let truth = truths[answer.content.feed === sessions[0].feed ? 0 : 1]
            let shown = String(decoding: state, as: UTF8.self)
            #expect(shown == truth.states[Int(version)], "seed \(seed)")
        }
    }
}
