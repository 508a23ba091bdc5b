import Clustering
import Feeds
import JSONCoding
import Reactors
import Sessions
import Storage
import Testing

/// One loop's sessions without the loop: only the test's calls happen, in its order.
final class Rig {
    let journal: ScriptedJournal
    let output: RecordingOutput
    let inbox = Inbox()
    let clock = WallClock()
    let isolation = TestIsolation()
    let table: SessionTable
    /// Messages between sessions and streams of several of them.
    let joints = JointMessages()
    let work: WorkBudget
    /// The loop that shares the readers; nil: there is one loop.
    let second: SecondLoop?
    /// Whether the end of a round leaves deliveries to later ones, as a loop does.
    private let defersDeliveries: Bool
    private(set) var lastToken: UInt64 = 0
    /// The default presence of a reader.
    var presence: (_ token: UInt64) -> ReaderPresence? = { _ in nil }

    /// - Parameters:
    ///   - slow: every commit waits for the test.
    ///   - journal: of another rig, whose process has ended.
    ///   - node: the process is one of several.
    ///   - last: that rig, if the same clients continue.
    ///   - registrations: reactors that sessions in the journal may have.
    ///   - replicasFrom: the subscribers of a stream from which on another loop shares them; 0: it
    ///     gets as many as it can.
    init(
        slow: Bool = false, keepsRecords: Bool = true, answers: Bool = false,
        rules: ScriptedEnds.Rules = .all, journal: ScriptedJournal? = nil,
        node: ScriptedNode? = nil, after last: Rig? = nil,
        registrations: [Registration] = [], retention: Retention = Retention(),
        batch: Int = 1_000, unanswered: Int = 20_000, remembered: Int = 100_000,
        snapshotEvery: Int = 1_000, sessions: Int = 1_000, runningActions: Int = 1_000,
        subscribers: Int = 32_768,
        uncommittedBytes: Int = 64 << 20, deliveries: DeliveryLimits? = nil,
        stateBytes: Int = 16_777_216, snapshotBytes: Int = 32 << 20, topics: TopicBus = TopicBus(),
        owners: SessionOwners? = nil, work: WorkBudget = WorkBudget(), replicasFrom: Int = .max
    ) {
        output = last?.output ?? RecordingOutput()
        lastToken = last?.lastToken ?? 0
        self.work = work
        self.journal =
            journal ?? node?.cluster.journal ?? last?.journal
            ?? ScriptedJournal(
                isImmediate: !slow, keepsRecords: keepsRecords, answers: answers,
                rules: rules)
        var limits = SessionLimits(sessions: sessions, batch: batch, retention: retention)
        limits.unanswered = unanswered
        limits.remembered = remembered
        limits.snapshotEvery = snapshotEvery
        limits.runningActions = runningActions
        limits.subscribers = subscribers
        if let deliveries { limits.deliveries = deliveries }
        defersDeliveries = deliveries != nil
        limits.uncommittedBytes = uncommittedBytes
        limits.stateBytes = stateBytes
        limits.snapshotBytes = snapshotBytes
        let inbox = inbox
        let clock = clock
        table = SessionTable(
            journal: node ?? self.journal, limits: limits, registrations: registrations,
            services: LoopServices(
                now: { clock.milliseconds }, uptime: { clock.uptime }, hop: { inbox.put($0) },
                isolation: LoopIsolation(
                    check: { [isolation] in isolation.check() }, runAfterStop: { inbox.putLate($0) }
                ),
                topics: topics, owners: owners, work: work),
            placement: node.map { TableCluster($0) })
        table.output = output
        output.relays = table.relays
        second =
            replicasFrom == .max
            ? nil : SecondLoop(output, limits, defersDeliveries: defersDeliveries)
        output.second = second
        guard second != nil else { return }
        table.feeds.replicas.begin(
            on: 0, of: 2, threshold: max(replicasFrom, 1), tolerance: min(replicasFrom, 1))
    }

    convenience init(
        slow: Bool = false, answers: Bool = false, rules: ScriptedEnds.Rules = .all,
        after last: Rig? = nil, registrations: [Registration], retention: Retention,
        remembered: Int,
        owners: SessionOwners, _ bounds: WholeLife.Bounds
    ) {
        self.init(
            slow: slow, answers: answers, rules: rules, after: last,
            registrations: registrations, retention: retention, unanswered: bounds.unanswered,
            remembered: remembered,
            snapshotEvery: bounds.snapshotEvery, sessions: bounds.sessions,
            runningActions: bounds.runningActions, uncommittedBytes: bounds.uncommittedBytes,
            deliveries: bounds.deliveries,
            stateBytes: bounds.stateBytes, snapshotBytes: bounds.snapshotBytes, owners: owners,
            replicasFrom: bounds.replicasFrom)
        guard bounds.framesLittle else { return }
        table.pass.eventLimit = 300
        table.pass.leastEvents = 1
        table.pass.lagLimit = 500
    }

    /// Loads a session from the journal.
    func wake(_ id: String) throws -> SessionLookup {
        let name = try #require(SessionID(id))
        var found: SessionLookup?
        table.wake(name) { found = $0 }
        drainInbox()
        return try #require(found)
    }

    func nextToken() -> UInt64 {
        lastToken += 1
        return lastToken
    }

    // MARK: Rounds

    /// Ends a round: submits the gathered steps to the journal.
    func endRound() {
        table.commit()
        repeat {} while table.deliver() && !defersDeliveries
        joints.collect(from: table)
        second?.collect(from: table)
    }

    /// Ends the oldest pending batch, runs the jobs that follow and ends the round.
    func settle(_ failure: JournalFailure? = nil) {
        journal.endNext(failure)
        drainInbox()
        endRound()
    }

    /// Commits everything pending and everything that follows from it.
    func settleAll() {
        endRound()
        while journal.pendingCount > 0 { settle() }
        deliverAll()
        while exchange() {
            drainInbox()
            endRound()
            while journal.pendingCount > 0 { settle() }
            deliverAll()
        }
    }

    /// Delivers everything that was left to later rounds.
    func deliverAll() {
        table.deliverAll()
        second?.deliverAll()
        joints.collect(from: table)
    }

    /// Whether jobs are to be run, or something is on its way between the loops.
    var hasWork: Bool { !inbox.isEmpty || !(second?.isEmpty ?? true) }

    /// Delivers what is on its way between the loops.
    ///
    /// - Returns: whether there was anything.
    func exchange() -> Bool { second?.deliver(to: table) ?? false }

    /// Runs the jobs in the inbox, and those that they post at once.
    func drainInbox() {
        repeat {
            while case let jobs = inbox.drain(), !jobs.isEmpty {
                for job in jobs { job(table) }
            }
        } while joints.deliver(to: table) || exchange() || !inbox.isEmpty
    }

    /// Waits for jobs of tasks and runs them until `isEnough`.
    func work(until isEnough: () -> Bool) async {
        while !isEnough(), !Task.isCancelled {
            await inbox.hasJob()
            drainInbox()
            settleAll()
        }
    }

    /// Runs jobs of tasks until they make a commit, which waits for the test.
    func workUntilCommit() async {
        while journal.pendingCount == 0 {
            await inbox.hasJob()
            drainInbox()
            endRound()
        }
    }

    // MARK: Requests

    /// Creates a session and submits its creation to the journal.
    @discardableResult
    func create(_ id: String, _ registration: Registration) throws -> Session {
        let name = try #require(SessionID(id))
        try table.create(name, registration, for: nextToken())
        endRound()
        return try session(id)
    }

    func session(_ id: String) throws -> Session {
        let name = try #require(SessionID(id))
        guard case .session(let session) = table.find(name) else {
            throw NoSession(id: id)
        }
        return session
    }

    struct NoSession: Error {
        var id: String
    }

    /// Posts and returns the token; the round does not end.
    @discardableResult
    func post(
        _ body: String, to session: Session, condition: PositionCondition? = nil,
        waits: Bool = false, key: String? = nil, done: [String] = [], by subject: String? = nil
    ) throws -> UInt64 {
        let token = nextToken()
        var post = ActionPost(body: ActionBody(Array(body.utf8)), token: token)
        post.condition = condition
        post.waits = waits
        post.key = key
        post.doneKeys = done
        post.subject = subject
        try session.post(post)
        return token
    }

    /// Posts in its own round.
    @discardableResult
    func act(_ body: String, on session: Session) throws -> UInt64 {
        let token = try post(body, to: session)
        endRound()
        return token
    }

    /// Posts in its own round.
    ///
    /// - Returns: why the request was refused, at once or after a commit; nil if it was not.
    func refusal(of body: String, on session: Session, key: String? = nil) throws -> ActionRefusal?
    {
        do {
            let token = try post(body, to: session, key: key)
            endRound()
            guard case .refused(let refusal, _)? = answer(token)?.kind else { return nil }
            return refusal
        } catch let refusal as ActionRefusal {
            return refusal
        }
    }

    func read(_ session: any ReadableSession, version: UInt64? = nil) -> UInt64 {
        let token = nextToken()
        session.read(version: version, for: token)
        return token
    }

    func end(_ session: Session) -> UInt64 {
        let token = nextToken()
        session.end(for: token)
        return token
    }

    /// Subscribes; `capacity`: how many bytes the reader takes before it stalls.
    @discardableResult
    func subscribe(
        _ session: any ReadableSession, _ selection: Selection = .allPulses,
        _ start: SubscriptionRequest.Start = .snapshot, capacity: Int? = nil,
        for token: UInt64? = nil, presence: ReaderPresence? = nil
    ) -> UInt64 {
        let token = token ?? nextToken()
        if let capacity { output.setCapacity(capacity, of: token) }
        session.subscribe(
            SubscriptionRequest(
                token: token, selection: selection, start: start,
                presence: presence ?? self.presence(token)))
        return token
    }

    // MARK: Output

    func answer(_ token: UInt64) -> Reply.Content? {
        output.answers.first { $0.token == token }?.content
    }

    func transcript(_ subscriber: UInt64) -> Transcript {
        Transcript(output.bytes(of: subscriber))
    }

    func lines(_ subscriber: UInt64) -> [String] {
        transcript(subscriber).lines
    }
}

extension Selection {
    /// Every possible pulse.
    static let allPulses = Selection(pulses: .max)
    static let allActivities = Selection(activities: true)
    static let allStates = Selection(states: .whole)
    static let everything = Selection(pulses: .max, activities: true, states: .whole)
    static let patches = Selection(states: .whole).patched()
    static let everythingAsPatches = everything.patched()

    static func part(_ pointer: String) throws -> Selection {
        Selection(states: .part(try JSONPointer(pointer)))
    }

    func patched() -> Selection {
        var selection = self
        selection.asPatches = true
        return selection
    }
}

/// A clock that the test sets.
final class WallClock {
    /// Since 1970 (UTC).
    var milliseconds: Int64 = 1_709_251_199_999
    /// Of a clock that is never set.
    var uptime: Int64 = 0
}

extension DeliveryLimits {
    static var least: DeliveryLimits {
        var limits = DeliveryLimits()
        limits.besideAnswers = 0
        limits.alone = 1
        limits.waiting = 2
        return limits
    }
}
