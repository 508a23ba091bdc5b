import Reactors
import ReactorHosting
import Sessions
import Storage
import TestRandomness

/// One random life of many sessions, over several processes on one journal whose archive answers
/// late, in any order, or with a failure.
///
/// Design: the floor above is played as the server plays it: a request finds its session or waits
/// for it, has one answer or loses its connection. Everything else that can happen to sessions is a
/// step of its own, so that any two things happen in any order.
final class WholeLife {
    /// What the life has besides requests.
    struct Scope {
        /// Effects, Cyclers and topics: tasks, whose order is not the seed's alone.
        var hasTasks = false
        /// Whether the journal can be read; else sessions live in memory alone.
        var hasArchive = true
    }

    /// A request as its client knows it.
    struct Request {
        var operation: Operation
        var id: String
        /// The number that marks a post, the same for every try of one key.
        var mark: Int?
        /// Of a page of the log: the position that it asked for.
        var after: String?
        var waits = false
    }

    /// An answer that no session gives.
    enum Said {
        case ended, nothing, unreadable, refused, list([String]), topic
        case quarantined, deleted, notDeleted
    }

    let seed: UInt64
    let scope: Scope
    var generator: SeededGenerator
    var rig: Rig
    let retention: Retention
    let snapshotEvery: Int
    let desk = Desk()
    let registrations: [Registration]

    /// Every id that a session was created under, or may be.
    var ids = ["s", "t"]
    var reactors: [String: String] = [:]
    /// What forks begin with, as JSON.
    var origins: [SessionKey: [UInt8]] = [:]
    /// Lives that had a stub: what they show is no truth of the journal.
    var stubbed: Set<String> = []
    /// Lives that this process may have found to be such as can't be rebuilt.
    var spoiled: Set<String> = []
    var requests: [UInt64: Request] = [:]
    var said: [UInt64: Said] = [:]
    var gone: Set<UInt64> = []
    var readers: [(session: String, reader: Reader)] = []
    var lastMark = 0
    var lastNew = 0
    /// Keyed posts: sent again until they are answered, and sometimes after that.
    var keyed: [(mark: Int, session: String, body: String, waits: Bool)] = []
    /// Positions that clients were told.
    var positions: [String: [String]] = [:]
    /// How many of the output's answers have been looked at.
    var answersSeen = 0
    var publications: [Task<Void, Never>] = []
    var done: Set<Operation> = []
    /// What the oracle has against it; empty in the end.
    var faults: [String] = []

    init(seed: UInt64, scope: Scope = Scope()) throws {
        self.seed = seed
        self.scope = scope
        generator = SeededGenerator(seed: seed)
        retention = Retention(
            records: [3, 8, 1_000].randomElement(using: &generator) ?? 3,
            bytes: [50, 400, 100_000].randomElement(using: &generator) ?? 50)
        snapshotEvery = [1, 7, 50].randomElement(using: &generator) ?? 7
        let desk = desk
        registrations = [
            try .ledger(),
            try .of("player", activities: ["said"]) { Player(desk: desk) },
            try Registration(
                name: "clerk", activities: ["said"], examples: [],
                makeCycler: { Clerk(desk: desk) }),
        ]
        rig = Rig(
            slow: true, answers: scope.hasArchive, registrations: registrations,
            retention: retention, remembered: 2, snapshotEvery: snapshotEvery)
        rig.journal.setLate(true)
        for id in ids { request(.putSession, id) }
    }

    // MARK: Steps

    func live(steps: Int) async throws {
        for _ in 0..<steps {
            try await step()
            lookAtAnswers()
            checkCounts()
        }
        try await finish()
        checkCounts()
    }

    private func step() async throws {
        switch Int.random(in: 0..<41, using: &generator) {
        case 0..<17: request(anyOperation(), anyID())
        case 17..<22: rig.endRound()
        case 22..<25: rig.settle()
        case 25: failCommits()
        case 26..<30: answerArchive()
        case 30: rig.drainInbox()
        case 31: cut()
        case 32, 33: give()
        case 34: tick()
        case 35: lose()
        case 36: trim()
        case 37: if Int.random(in: 0..<3, using: &generator) == 0 { try crash() }
        case 38: stopWaiting()
        case 39: spoil()
        default: letGo()
        }
        if scope.hasTasks { await rest() }
    }

    /// As often as they matter to one another.
    private func anyOperation() -> Operation {
        let weights: [(Operation, Int)] = [
            (.postActions, 24), (.readLog, 8), (.readSession, 8), (.streamPulses, 2),
            (.streamActivities, 1), (.streamStates, 3), (.streamEvents, 2), (.putSession, 2),
            (.createSession, 2), (.deleteSession, 2), (.putStub, 1), (.readStub, 1),
            (.listSessions, 1), (.publishTopic, 2), (.metrics, 1), (.readyz, 1),
        ]
        var number = Int.random(in: 0..<weights.reduce(0) { $0 + $1.1 }, using: &generator)
        for (operation, weight) in weights {
            number -= weight
            if number < 0 { return operation }
        }
        return .postActions
    }

    func anyID() -> String { ids.randomElement(using: &generator) ?? "s" }

    func chance(_ one: Int, in all: Int) -> Bool {
        Int.random(in: 0..<all, using: &generator) < one
    }

    func blame(_ fault: String) {
        faults.append("seed \(seed): \(fault)")
    }
}
