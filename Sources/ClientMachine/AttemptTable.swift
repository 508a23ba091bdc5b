/// Attempts, from the question for a credential to their end, and the waits between them.
///
/// Posts, creations and streams differ in what their answers mean; when the next attempt is made
/// and with which credential is decided here, for all of them.
struct AttemptTable: Sendable {
    enum Phase: Equatable, Sendable {
        case idle
        /// Waits for its turn. The number is its place in the queue.
        case queued(UInt64)
        case waiting(until: Duration, why: String)
        case asking(AttemptID, deadline: Duration)
        /// `deadline` is the moment at which the attempt fails unless something arrives before.
        case underWay(AttemptID, deadline: Duration, Credential?)

        /// The moment at which something is to be done.
        var due: Duration? {
            switch self {
            case .idle, .queued: nil
            case .waiting(let until, _): until
            case .asking(_, let deadline), .underWay(_, let deadline, _): deadline
            }
        }
    }

    struct Cost {
        /// The time after which it fails unless something arrives.
        var wait: Duration
        /// Whether it counts for the limit of requests that are under way at once.
        var takesTurn = false
    }

    /// The owner's part in beginning an attempt.
    enum Step: Equatable {
        case ask(AttemptID, refused: String?)
        case launch(AttemptID, Credential?)
    }

    private struct Record: Sendable {
        var phase = Phase.idle { didSet { due = phase.due } }
        /// As ``Phase/due``: to ask the phase copies it.
        private(set) var due: Duration?
        var backoff = Backoff()
        var refused: String?
        /// True until a wait has passed since the refusal: an equal credential is not sent before.
        var isRefusalFresh = false
        /// The moment from which a sign of life ends the wait after a failure: until then the
        /// server has asked to wait. Nil without such a wait.
        var notBefore: Duration?
        /// A sign of life has ended a wait since the last success. Once is enough: a purpose that
        /// fails although the server works would be attempted at the rate of the others' successes.
        var isHurried = false
        /// Gives records an order that does not depend on hashes.
        let serial: UInt64

        /// - Returns: whether it waits less long.
        mutating func hurry(at now: Duration) -> Bool {
            guard !isHurried, let notBefore, case .waiting(let until, let why) = phase,
                until > max(now, notBefore)
            else { return false }
            phase = .waiting(until: max(now, notBefore), why: why)
            isHurried = true
            return true
        }
    }

    private let asksForCredentials: Bool
    private let limits: ClientLimits
    private var records: [Purpose: Record] = [:] { didSet { isEarliestKnown = false } }
    private var isEarliestKnown = false
    private var knownEarliest: Duration?
    /// Invariant: has exactly the attempts that are asking or under way.
    private var running: [AttemptID: Purpose] = [:]
    private var remembered: Credential?
    private var lastNumber: UInt64 = 0
    /// The attempts that have a turn. Invariant: at most `requestsAtOnce`.
    private var turns: Set<AttemptID> = []
    /// In the order in which they get a turn. Entries that are no longer queued under their number
    /// are skipped. Invariant: at most twice as many as records.
    private var queue: [(purpose: Purpose, number: UInt64)] = []
    /// Entries before this index have had their turn.
    private var queueStart = 0

    init(asksForCredentials: Bool, limits: ClientLimits) {
        self.asksForCredentials = asksForCredentials
        self.limits = limits
    }

    func phase(of purpose: Purpose) -> Phase { records[purpose]?.phase ?? .idle }

    /// The purposes of which something is known.
    var count: Int { records.count }

    /// Failures since the last success.
    func failures(of purpose: Purpose) -> Int { records[purpose]?.backoff.failures ?? 0 }

    func purpose(of id: AttemptID) -> Purpose? { running[id] }

    /// Begins an attempt now; nil if one is under way already.
    /// Also nil if it has to wait for its turn: ``takeQueued()`` returns it later.
    mutating func begin(_ purpose: Purpose, _ cost: Cost, at now: Duration) -> Step? {
        switch phase(of: purpose) {
        case .asking, .underWay, .queued: return nil
        case .idle, .waiting: break
        }
        guard !cost.takesTurn || turns.count < limits.requestsAtOnce else {
            enqueue(purpose)
            return nil
        }
        let id = AttemptID(number())
        running[id] = purpose
        if cost.takesTurn { turns.insert(id) }
        guard asksForCredentials else { return launch(purpose, id, nil, until: now + cost.wait) }
        let refused = records[purpose]?.refused
        if let credential = remembered, credential.authorization != refused,
            lives(credential, at: now)
        {
            return launch(purpose, id, credential, until: now + cost.wait)
        }
        set(purpose, .asking(id, deadline: now + limits.answer))
        return .ask(id, refused: refused)
    }

    private mutating func enqueue(_ purpose: Purpose) {
        if queue.count - queueStart > 2 * records.count {
            queue = queue[queueStart...].filter { phase(of: $0.purpose) == .queued($0.number) }
            queueStart = 0
        }
        let number = number()
        queue.append((purpose, number))
        set(purpose, .queued(number))
    }

    /// Removes the next purpose of the queue, now idle; nil if none waits, or no turn is free.
    mutating func takeQueued() -> Purpose? {
        guard turns.count < limits.requestsAtOnce else { return nil }
        while queueStart < queue.count {
            let next = queue[queueStart]
            queueStart += 1
            guard phase(of: next.purpose) == .queued(next.number) else { continue }
            set(next.purpose, .idle)
            return next.purpose
        }
        (queue, queueStart) = ([], 0)
        return nil
    }

    /// Continues an attempt with its credential (C6); nil if it does not wait for one.
    mutating func receive(
        _ credential: Credential, for id: AttemptID, within wait: Duration, at now: Duration
    ) -> Step? {
        guard let purpose = asking(id) else { return nil }
        remembered = lives(credential, at: now) ? credential : nil
        return launch(purpose, id, credential, until: now + wait)
    }

    func asking(_ id: AttemptID) -> Purpose? {
        guard let purpose = running[id], case .asking = phase(of: purpose) else { return nil }
        return purpose
    }

    /// Whether the credential was refused and nobody has waited since. After a wait it is sent
    /// again (C6): a proxy may have refused it, or the server's keys may have changed.
    func isRefused(_ credential: Credential, for id: AttemptID) -> Bool {
        guard let record = running[id].flatMap({ records[$0] }), record.isRefusalFresh else {
            return false
        }
        return record.refused == credential.authorization
    }

    /// Moves the moment at which a silent attempt fails.
    mutating func extend(_ id: AttemptID, to deadline: Duration) {
        guard let purpose = running[id],
            case .underWay(_, _, let credential) = phase(of: purpose)
        else { return }
        set(purpose, .underWay(id, deadline: deadline, credential))
    }

    /// Ends an attempt; nil if it has ended before. The purpose keeps its failures.
    mutating func end(_ id: AttemptID) -> Purpose? {
        guard let purpose = running.removeValue(forKey: id) else { return nil }
        turns.remove(id)
        set(purpose, .idle)
        return purpose
    }

    /// Waits after a failure: full jitter, at least `minimum`.
    mutating func retry(
        _ purpose: Purpose, why: String, atLeast minimum: Duration = .zero, at now: Duration,
        using generator: inout some RandomNumberGenerator
    ) {
        var record = records[purpose] ?? newRecord()
        let bounded = min(minimum, limits.longestWait)
        let wait = record.backoff.fail(atLeast: bounded, using: &generator)
        record.phase = .waiting(until: now + wait, why: why)
        record.notBefore = now + bounded
        record.isRefusalFresh = false
        records[purpose] = record
    }

    /// The server works, as another attempt has shown: waits after a failure end, each once until
    /// its purpose succeeds, and none before the server's `Retry-After`. Returns the purposes whose
    /// waits are now shorter.
    mutating func hurry(at now: Duration) -> [Purpose] {
        // With each answer: nearly always nothing waits after a failure.
        guard records.values.indices.contains(where: { records.values[$0].notBefore != nil })
        else { return [] }
        return records.keys.filter {
            $0.isHurriedBySuccess && records[$0]?.hurry(at: now) == true
        }
    }

    /// Ends the wait of a purpose that may have an answer now, but not before `Retry-After`.
    mutating func ask(_ purpose: Purpose, at now: Duration) {
        guard let index = records.index(forKey: purpose),
            case .waiting(let until, let why) = records.values[index].phase
        else { return }
        let earliest = max(now, records.values[index].notBefore ?? now)
        if earliest < until { records.values[index].phase = .waiting(until: earliest, why: why) }
    }

    mutating func schedule(_ purpose: Purpose, after wait: Duration, why: String, at now: Duration)
    {
        set(purpose, .waiting(until: now + min(wait, limits.longestWait), why: why))
    }

    /// Notes that the server has refused the credential of an attempt that is under way. Returns
    /// whether another credential may help: not if one was refused before.
    mutating func refuseCredential(of id: AttemptID) -> Bool {
        guard let purpose = running[id],
            case .underWay(_, _, let credential?) = phase(of: purpose)
        else { return false }
        if remembered == credential { remembered = nil }
        let isFirst = records[purpose]?.refused == nil
        records[purpose]?.refused = credential.authorization
        records[purpose]?.isRefusalFresh = true
        return isFirst
    }

    /// The purpose is achieved, or the server is known to work: waits begin at their
    /// shortest again.
    mutating func succeed(_ purpose: Purpose) {
        guard let index = records.index(forKey: purpose) else { return }
        if records.values[index].phase == .idle {
            records.remove(at: index)
            return
        }
        records.values[index].backoff.reset()
        records.values[index].refused = nil
        records.values[index].isHurried = false
    }

    /// Why the purpose waits after a failure, and until when; nil if it does not.
    func failedWait(of purpose: Purpose) -> (until: Duration, why: String)? {
        guard let index = records.index(forKey: purpose),
            records.values[index].backoff.failures > 0,
            case .waiting(let until, let why) = records.values[index].phase
        else { return nil }
        return (until, why)
    }

    mutating func forget(_ purpose: Purpose) { _ = remove(purpose) }

    /// Removes a purpose. Returns the attempt to cancel, if one is under way.
    mutating func remove(_ purpose: Purpose) -> AttemptID? {
        guard let index = records.index(forKey: purpose) else { return nil }
        switch records.remove(at: index).value.phase {
        case .idle, .queued, .waiting: return nil
        case .asking(let id, _):
            running[id] = nil
            turns.remove(id)
            return nil
        case .underWay(let id, _, _):
            running[id] = nil
            turns.remove(id)
            return id
        }
    }

    /// Ends all waits (C4), and begins them at their shortest.
    mutating func wake(at now: Duration) {
        for (purpose, record) in records {
            records[purpose]?.backoff.reset()
            records[purpose]?.isHurried = false
            guard case .waiting(_, let why) = record.phase else { continue }
            records[purpose]?.phase = .waiting(until: now, why: why)
        }
    }

    /// The purposes whose wait is over, in the order in which they were first attempted.
    func due(at now: Duration) -> [Purpose] {
        records.filter {
            if case .waiting(let until, _) = $0.value.phase { until <= now } else { false }
        }
        .sorted { $0.value.serial < $1.value.serial }.map(\.key)
    }

    /// The attempts in which nothing has arrived for too long.
    func expired(at now: Duration) -> [AttemptID] {
        running.filter { phase(of: $0.value).due.map { $0 <= now } ?? false }.keys.sorted()
    }

    /// The moment at which something is due.
    mutating func findEarliest() -> Duration? {
        if !isEarliestKnown {
            knownEarliest = nil
            for place in records.values.indices {
                guard let due = records.values[place].due else { continue }
                knownEarliest = min(knownEarliest ?? due, due)
            }
            isEarliestKnown = true
        }
        return knownEarliest
    }

    private mutating func launch(
        _ purpose: Purpose, _ id: AttemptID, _ credential: Credential?, until deadline: Duration
    ) -> Step {
        set(purpose, .underWay(id, deadline: deadline, credential))
        return .launch(id, credential)
    }

    private func lives(_ credential: Credential, at now: Duration) -> Bool {
        credential.expires.map { $0 - now >= limits.credentialLife } ?? false
    }

    private mutating func set(_ purpose: Purpose, _ phase: Phase) {
        guard let index = records.index(forKey: purpose) else {
            var record = newRecord()
            record.phase = phase
            records[purpose] = record
            return
        }
        records.values[index].phase = phase
        records.values[index].notBefore = nil
    }

    private mutating func newRecord() -> Record { Record(serial: number()) }

    private mutating func number() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}
