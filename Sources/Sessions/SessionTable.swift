internal import JSONCoding
package import Reactors
package import Storage

/// The sessions of one loop.
package final class SessionTable {
    /// Brings a job to the table's loop, from any thread, in order. Returns false when the loop has
    /// stopped: the job is let go of and never done, so the waiting task must be resumed.
    package typealias Hop =
        @Sendable (@escaping @Sendable (SessionTable) -> Void) -> Bool

    /// Brings a job to the table that owns the session, from any thread, in order. Returns false as
    /// ``Hop`` does.
    package typealias Reach =
        @Sendable (SessionID, @escaping @Sendable (SessionTable) -> Void) -> Bool

    package let journal: any Journal
    package let limits: SessionLimits
    /// Milliseconds since 1970 (UTC), for records.
    private let now: () -> Int64
    let hop: Hop
    /// The proof that something runs on this loop.
    let isolation: LoopIsolation
    /// Brings a job to the loop that owns a session.
    let reach: Reach
    /// Values that administrators publish, to the sessions of all loops.
    let topics: TopicBus
    private let registrations: [Registration]
    // Why implicitly unwrapped: the owner of the table is its output and sets it at once.
    package unowned var output: (any SessionOutput)!

    /// Those in memory, and those asleep that somebody reads.
    private var sessions: [SessionID: Session] = [:]
    /// Calls that are due when a session has come from the journal.
    var waking: [SessionID: [(SessionLookup) -> Void]] = [:]
    /// Those whose sources nobody listens to: they are fetched in this tick.
    var deaf: Set<SessionID> = []
    /// The same, for the next tick: the journal could not be read.
    var deafUntilTick: Set<SessionID> = []
    /// Sessions that today's code can't rebuild, 10 000 at the most; others are tried again.
    private var quarantined: [SessionID: RecoveryFault] = [:]
    /// Sessions that are not in memory and are being deleted.
    ///
    /// Invariant: none of them is in `waking`: what was read of a session before its deletion must
    /// not bring it back afterwards.
    var deletions: [SessionID: PendingDeletion] = [:]
    /// Counts calls of ``tick()``.
    var ticks: UInt64 = 0
    /// Invariant: how many of `sessions` are asleep.
    private var asleepCount = 0
    var eviction = Eviction()
    /// By their last use. Without an archive sessions never sleep, and none is here.
    var idle = IdleSessions()
    /// Counted as they come and go: `/metrics` asks for it, and must not look at every stream.
    let subscribers = SubscriberTally()
    /// The large state that was read last.
    var shown: ShownState?
    /// How many have left memory, asleep or ended, since it was given back.
    var evictedCount = 0
    private var ended = EndedSessions()
    private var randomness = SystemRandomNumberGenerator()
    var scratch: [UInt8] = []
    var encodingSpace = JSONEncodingSpace()
    /// Writes the records of all sessions, one at a time.
    var encoder = RecordEncoder()
    /// Where it is said what is carried out; see ``Session/begins(_:_:)``.
    let crashSlot: CrashSlot
    let commits: CommitPipeline
    /// Reads of the journal by streams.
    let background: BackgroundQueue
    /// Whose record is being written.
    private var writing: Step?
    private var lastIncarnation: UInt64 = 0

    /// - Parameters:
    ///   - registrations: the reactors that sessions in the journal may be of.
    ///   - isolation: how tasks are kept on the loop that `hop` leads to.
    ///   - reach: default: this table owns every session.
    ///   - now: milliseconds since 1970 (UTC); asked for every record.
    package init(
        journal: any Journal, limits: SessionLimits, registrations: [Registration] = [],
        topics: TopicBus = TopicBus(), now: @escaping () -> Int64, hop: @escaping Hop,
        isolation: LoopIsolation,
        reach: Reach? = nil
    ) {
        self.journal = journal
        crashSlot = journal.takeCrashSlot()
        self.limits = limits
        self.registrations = registrations
        self.now = now
        self.hop = hop
        self.isolation = isolation
        self.reach = reach ?? { _, job in hop(job) }
        self.topics = topics
        commits = CommitPipeline(journal, limits, hop: hop)
        background = BackgroundQueue { _ = hop { $0.background.run() } }
    }

    /// Milliseconds since 1970 (UTC).
    var time: Int64 { now() }

    // MARK: Sessions

    package var count: Int { sessions.count }
    /// Those in memory: one that is asleep and only read does not count.
    package var awakeCount: Int { sessions.count - asleepCount }
    /// Subscribers of all sessions.
    package var subscriberCount: Int { subscribers.count }

    package func find(_ id: SessionID) -> SessionLookup {
        if let session = sessions[id] {
            return session.isAsleep ? .notInMemory : .session(session)
        }
        if deletions[id] != nil { return .notInMemory }
        if ended.contains(id) { return .ended }
        if let fault = quarantined[id] { return .quarantined(fault) }
        return journal.archive == nil ? .nothing : .notInMemory
    }

    /// The session, if this stay in memory is not over.
    func session(_ id: SessionID, _ incarnation: UInt64) -> Session? {
        guard let session = sessions[id], session.incarnation == incarnation else { return nil }
        return session
    }

    /// Whether one more session fits.
    package var hasRoomForSession: Bool { awakeCount < limits.sessions }

    /// One of the sessions falls asleep, or wakes.
    func noteSleep(of session: Session, _ isAsleep: Bool) {
        guard sessions[session.id] === session else { return }
        asleepCount += isAsleep ? 1 : -1
    }

    /// It is no longer one of the table's.
    private func drop(_ session: Session) {
        sessions[session.id] = nil
        if session.isAsleep { asleepCount -= 1 }
    }

    /// Creates a session; the answer comes when that is committed.
    /// Precondition: there is none with this id, and there is room.
    ///
    /// - Parameter saved: what it begins with, instead of the initial state.
    /// - Throws: ``RecoveryFault`` if today's code can't use that.
    package func create(
        _ id: SessionID, _ registration: Registration, for token: UInt64,
        from saved: SavedSession? = nil
    ) throws(RecoveryFault) {
        let generation = Generation(using: &randomness)
        let session = try Session(id, registration, generation, self, saved: saved, isNew: true)
        keep(session)
        session.create(for: token)
    }

    // MARK: Sessions that come and go

    func registration(_ name: String) -> Registration? {
        registrations.first { $0.name == name }
    }

    /// The session of this id of which only the readers are in memory.
    func asleep(_ id: SessionID) -> Session? {
        sessions[id].flatMap { $0.isAsleep ? $0 : nil }
    }

    /// A number that no incarnation of any session here has had.
    func nextIncarnation() -> UInt64 {
        lastIncarnation += 1
        return lastIncarnation
    }

    func keep(_ session: Session) { sessions[session.id] = session }

    /// It leaves memory; the journal has it.
    func forget(_ session: Session) {
        guard sessions[session.id] === session else { return }
        drop(session)
    }

    func remember(_ ended: SessionID) {
        self.ended.insert(ended, limit: limits.remembered)
    }

    func quarantine(_ id: SessionID, _ fault: RecoveryFault) {
        if quarantined.count >= 10_000 { quarantined.removeAll() }
        quarantined[id] = fault
    }

    /// Nobody knows any more whether it can't be rebuilt.
    func forgetFault(of id: SessionID) { quarantined[id] = nil }

    /// Why today's code can't rebuild the session, if that is known: somebody has asked for it since
    /// the process began, or nothing is hosted under its reactor's name.
    package func fault(of line: SavedLine) -> RecoveryFault? {
        if let id = SessionID(line.session), let fault = quarantined[id] { return fault }
        return registration(line.reactor) == nil ? .notHosted(line.reactor) : nil
    }

    /// Every session of the table, in no order.
    var all: some Collection<Session> { sessions.values }

    func takeSnapshots() {
        for session in sessions.values where session.isRunning && !session.isSaved {
            session.takeSnapshot()
        }
    }

    /// The first `limit` sessions after `id` in the order of their ids.
    ///
    /// For journals without an archive. Looks at every session, some 20 ns each, so 20 ms for a
    /// million on one loop; it keeps no order, which every creation and deletion would have to pay
    /// for.
    package func page(after id: String?, limit: Int, reactor: String?) -> [Session] {
        var page: [Session] = []
        for session in sessions.values {
            if let id, session.id.text <= id { continue }
            if let reactor, session.registration.name != reactor { continue }
            if page.count == limit, let last = page.last, session.id.text >= last.id.text {
                continue
            }
            let place = page.firstIndex { $0.id.text > session.id.text } ?? page.count
            page.insert(session, at: place)
            if page.count > limit { page.removeLast() }
        }
        return page
    }

    /// The process ends: every task of every session is cancelled.
    package func stop() {
        for session in sessions.values { session.stop() }
        commits.giveUp()
        // They hold the table, and what comes in late finds nobody.
        sessions = [:]
        asleepCount = 0
        shown = nil
        eviction = Eviction()
        waking = [:]
        deletions = [:]
        background.removeAll()
        commits.stop()
    }

    func remove(_ session: Session) {
        guard sessions[session.id] === session else { return }
        drop(session)
        evictedCount += 1
        if session.hasEnded { ended.insert(session.id, limit: limits.remembered) }
    }

    /// A dictionary keeps the room for as many as it ever had.
    func shrink() {
        guard sessions.capacity > 4 * sessions.count else { return }
        sessions = Dictionary(uniqueKeysWithValues: sessions.map { ($0, $1) })
    }

    // MARK: Records

    /// Begins a record for the journal; what it holds goes to the encoder.
    ///
    /// - Parameter end: of the history, with the record.
    func write(
        _ kind: HistoryEntry.Kind, at end: HistoryEnd, action: ActionTag, time: Int64,
        in step: Step
    ) {
        finishRecord()
        let head = HistoryEntry.Head(
            kind, at: end.position, version: end.version, action: action.number, time: time)
        encoder.begin(head, traceparent: step.session.arrival.traceparent)
        writing = step
    }

    /// Whether the record that is being written is one of this session's.
    func isWriting(for session: Session) -> Bool { writing?.session === session }

    /// Adds the record that is being written to its step.
    func finishRecord() {
        guard let step = writing else { return }
        writing = nil
        if step.batch.runs.last?.isFull ?? true {
            step.batch.runs.append(
                RecordBatch(of: step.session.key, step.session.registration.name))
        }
        encoder.finish(in: &step.batch.runs[step.batch.runs.count - 1])
    }

    /// Forgets the record that is being written, if it is one of this session's.
    func dropRecord(of session: Session) {
        if isWriting(for: session) { writing = nil }
    }

    /// Memory to put something together in, empty.
    func takeScratch() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &scratch)
        taken.removeAll(keepingCapacity: true)
        return taken
    }

    func giveBack(_ taken: consuming [UInt8]) {
        // A rush's memory is not kept for ever.
        if taken.capacity <= 65_536 { scratch = taken }
    }

    /// Hands what has gathered to the journal, as one batch. Called once a round.
    package func commit() { commits.commit(in: self) }
}
