import Feeds
import Reactors
import ReactorHosting
import Sessions
import Storage
import TestRandomness

/// A random life of many sessions, over several processes on one journal whose archive replies
/// late, in any order, or with a failure.
///
/// Design: the layer above is simulated like the server's: a request finds its session or waits for
/// it, gets one reply or loses its connection. Every other event of a session is a separate step,
/// so that any two events happen in any order.
final class WholeLife {
    /// The features that a life uses besides requests.
    struct Scope {
        /// Effects, Cyclers and topics: tasks, whose order the seed alone does not determine.
        var hasTasks = false
        /// Sessions with timers, and a clock that runs.
        var hasTimers = false
        /// Whether the journal can be read; otherwise sessions live in memory only.
        var hasArchive = true
        /// Whether standbys without the newest commits are promoted.
        var losesHistory = false
        /// The rules of the journal.
        var rules = ScriptedEnds.Rules.all
    }

    /// Limits of the service, some of them narrow.
    struct Bounds {
        let snapshotEvery: Int
        let snapshotBytes: Int
        /// Sessions in memory: where they are few, others have to leave for each that wakes.
        var sessions: Int
        let unanswered: Int
        let uncommittedBytes: Int
        let stateBytes: Int
        let runningActions: Int
        let deliveries: DeliveryLimits
        /// Sessions of one client.
        let owned: Int
        /// The number of subscribers of a stream from which another loop shares them; `Int.max` if
        /// there is one loop.
        var replicasFrom = Int.max
        /// Whether a pass has room for few events only, and little history is kept for streams that
        /// lag.
        var framesLittle = false

        /// Whether a session may find no room in memory.
        var areFewSessions: Bool { sessions < 100 }

        init(_ scope: Scope, using generator: inout SeededGenerator) {
            func draw(_ values: Int...) -> Int { values.randomElement(using: &generator) ?? 1 }
            snapshotEvery = draw(1, 7, 50)
            snapshotBytes = draw(32 << 20, 32 << 20, 100)
            sessions = scope.hasArchive ? draw(1_000, 1_000, 2, 4) : 1_000
            unanswered = draw(20_000, 20_000, 3)
            uncommittedBytes = draw(64 << 20, 64 << 20, 100)
            stateBytes = draw(16_777_216, 16_777_216, 120)
            runningActions = draw(1_000, 2)
            var deliveries = DeliveryLimits()
            deliveries.besideAnswers = draw(16, 0, 1)
            deliveries.alone = draw(64, 1, 2)
            deliveries.waiting = draw(512, 0, 1, 3)
            self.deliveries = deliveries
            owned = draw(1_000, 1_000, 2)
        }
    }

    /// A request as its client knows it.
    struct Request {
        var operation: Operation
        var id: String
        /// The number that marks a post, the same for every attempt with one key.
        var mark: Int?
        /// Of a page of the log: the requested position.
        var after: String?
        var waits = false
    }

    /// A reply that does not come from a session.
    enum Said {
        case ended, nothing, unreadable, refused, list([String])
        case quarantined, deleted, notDeleted, asleep, present
    }

    let seed: UInt64
    let scope: Scope
    var generator: SeededGenerator
    var rig: Rig
    let retention: Retention
    var bounds: Bounds
    let heldEffects = HeldEffects()
    let traces = TraceTally()
    let made = MadeReactors()
    var owners: SessionOwners
    /// Whether the outcome of a commit of this process is unknown.
    var mayOwnMore = false
    let registrations: [Registration]
    var timersFired = 0
    /// The readers whose last event had the names of the connected ones.
    var presenceSeen = 0

    /// Every id under which a session was or may have been created.
    var ids = ["s", "t"]
    var reactors: [String: String] = [:]
    /// The state that each fork begins with, as JSON.
    var origins: [SessionKey: [UInt8]] = [:]
    /// Generations that had a stub: their shown states are not in the journal.
    var stubbed: Set<String> = []
    /// Generations that this process may have found impossible to rebuild.
    var spoiled: Set<String> = []
    var requests: [UInt64: Request] = [:]
    var said: [UInt64: Said] = [:]
    var gone: Set<UInt64> = []
    var readers: [(session: String, reader: Reader)] = []
    /// Readers of several sessions on one stream.
    var joints: [JointReader] = []
    /// Readers in the process of the sessions.
    var programs: [ProgramStream] = []
    var programGenerator: SeededGenerator
    var lastMark = 0
    var lastNew = 0
    var lastForeign = 0
    /// Sessions that other processes have continued.
    var overtaken: Set<String> = []
    /// Sessions that a journal may refuse: others have continued them, or a commit has failed.
    var refusable: Set<String> = []
    /// Keyed posts: sent again until they get a reply, and sometimes after it.
    var keyed: [(mark: Int, session: String, body: String, waits: Bool)] = []
    /// Positions that clients have received.
    var positions: [String: [String]] = [:]
    /// How many of the output's replies have been checked.
    var answersSeen = 0
    /// The number of values that were published.
    var lastNews = 0
    var done: Set<Operation> = []
    /// Sessions that were ended because nobody used them.
    var expired = 0
    /// How often the tags of a session were compared with its state.
    var checkedTags = 0
    /// Sessions that were created by the request with their first action.
    var createdByActions = 0
    /// The sessions that other processes continued without updating the tags.
    var foreign: Set<String> = []
    /// Requests that their reactor has refused.
    var declined: Set<UInt64> = []
    /// Generations of which the sessions know that their history is lost.
    var void: Set<SessionKey> = []
    /// Losses after which the sessions of owners are not counted again yet.
    var recounts = 0
    /// The count that is to be set, and the losses after which it was made.
    var countedOwners: (owned: [ExactText: Int], losses: Int, isBeingSet: Bool)?
    /// The faults that the oracle has found; empty at the end.
    var faults: [String] = []

    init(seed: UInt64, scope: Scope = Scope()) throws {
        self.seed = seed
        self.scope = scope
        generator = SeededGenerator(seed: seed)
        programGenerator = SeededGenerator(seed: ~seed)
        retention = Retention(
            records: [3, 8, 1_000].randomElement(using: &generator) ?? 3,
            bytes: [50, 400, 100_000].randomElement(using: &generator) ?? 50)
        bounds = Bounds(scope, using: &generator)
        // By the seed, so that the rest of a life does not depend on it.
        bounds.replicasFrom = [Int.max, 0, 1][Int(seed % 3)]
        bounds.framesLittle = seed / 3 % 2 == 1
        let (heldEffects, made) = (heldEffects, made)
        let alarms: [Registration] = scope.hasTimers ? [try .of("alarm") { Alarm() }] : []
        registrations =
            [
                try Registration(
                    name: "ledger", activities: ["said"], examples: [], clock: ContinuousClock(),
                    make: SessionMaker("ledger", input: Charter.self, examples: []) {
                        made.make($0, $1, $2)
                        return Ledger()
                    }),
                try .of("player", activities: ["said"], clock: HastyClock()) {
                    Player(heldEffects: heldEffects)
                },
                try Registration(
                    name: "clerk", activities: ["said"], examples: [],
                    makeCycler: SessionMaker("clerk", input: Charter.self, examples: []) {
                        made.make($0, $1, $2)
                        return Clerk(heldEffects: heldEffects)
                    }),
                try Registration(
                    name: "branch", activities: [], examples: [], makePart: { Branch() }),
                .topic,
            ] + alarms
        owners = SessionOwners(limit: bounds.owned, counts: [:])
        rig = Rig(
            slow: true, answers: scope.hasArchive, rules: scope.rules, registrations: registrations,
            retention: retention, remembered: 2, owners: owners, bounds)
        rig.presence = Self.part
        rig.journal.setLate(true)
        if scope.hasTasks {
            ids += ["p", "p--a"]
            reactors = ["p": "clerk", "p--a": "branch"]
            rig.table.topics.begin(["news"])
        }
        if scope.hasTimers {
            ids += Self.alarms
            for id in Self.alarms { reactors[id] = "alarm" }
        }
        for id in ids { request(.putSession, id) }
    }

    // MARK: Steps

    func live(steps: Int) async throws {
        for _ in 0..<steps {
            try await step()
            lookAtAnswers()
            checkCounts()
            checkOwners()
        }
        try await finish()
        checkCounts()
        checkOwners(isOver: true)
    }

    private func step() async throws {
        if scope.losesHistory, chance(1, in: 60) { loseHistory() }
        endUnused()
        countOwnersAgain()
        passTime()
        switch Int.random(in: 0..<46, using: &generator) {
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
        case 40: cutJoint()
        case 41: joints.randomElement(using: &generator)?.last?.setCapacity(capacity())
        case 42: joints.randomElement(using: &generator)?.last?.stream.retry()
        case 43, 44: try writeAsOther()
        default: letGo()
        }
        programStep()
        if scope.hasTasks { await rest() }
    }

    /// Operations are drawn as often as they affect each other.
    private func anyOperation() -> Operation {
        let weights: [(Operation, Int)] = [
            (.postActions, 24), (.readLog, 8), (.readSession, 8), (.streamPulses, 2),
            (.streamActivities, 1), (.streamStates, 3), (.streamEvents, 2), (.putSession, 2),
            (.createSession, 2), (.deleteSession, 2), (.putStub, 1), (.readStub, 1),
            (.listSessions, 2), (.publishTopic, scope.hasTasks ? 10 : 2), (.metrics, 1),
            (.readyz, 1), (.readRuntime, 3), (.readPresence, 1), (.streamSessions, 3),
        ]
        var number = Int.random(in: 0..<weights.reduce(0) { $0 + $1.1 }, using: &generator)
        for (operation, weight) in weights {
            number -= weight
            if number < 0 { return operation }
        }
        return .postActions
    }

    func anyID() -> String {
        let some = scope.hasTimers && chance(1, in: 2) ? Self.alarms : ids
        return some.randomElement(using: &generator) ?? "s"
    }

    func chance(_ one: Int, in all: Int) -> Bool {
        Int.random(in: 0..<all, using: &generator) < one
    }

    func blame(_ fault: String) {
        faults.append("seed \(seed): \(fault)")
    }
}
