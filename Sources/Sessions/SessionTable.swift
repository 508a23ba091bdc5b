package import Feeds
package import Storage

/// The sessions of one loop.
package final class SessionTable {
    package let journal: any Journal
    /// May change at any time; a session that exceeds new limits is trimmed when it changes.
    package var limits: SessionLimits {
        didSet { feeds.limits = limits.feeds }
    }
    package let services: LoopServices
    // Why implicitly unwrapped: the owner of the table is its output, and sets it at once.
    package unowned var output: (any SessionOutput)! {
        didSet { feeds.output = output }
    }
    /// The readers' side.
    package let feeds: FeedLoop

    var sessions = ResidentSessions()
    var absent: AbsentSessions
    package let loads = TableLoads()
    package let eviction = Eviction()
    package let timers = TimerQueue()
    /// Ends sessions that nobody uses.
    // Why implicitly unwrapped: its initialiser needs the table.
    package private(set) var expiry: SessionExpiry!
    /// The large state that was encoded last.
    var shown: ShownState?
    /// Streams that wait to be opened.
    let openings: OpeningQueue
    let buffers = EncodingBuffers()
    /// The work that is being carried out; see ``Session/beginWork(_:_:)``.
    let turns: TurnMeter
    let effects = EffectTally()
    package let commits: CommitPipeline
    /// Nil if no other process writes to the journal.
    package let placement: (any SessionPlacement)?
    /// The subscriptions for streams of several sessions.
    package let relays: StreamRelays
    /// The readers of topics.
    // Why implicitly unwrapped: they need the table.
    package private(set) var topics: TopicReaders!

    /// - Parameters:
    ///   - registrations: the reactors that sessions in the journal may have.
    ///   - placement: needed if several nodes write to the journal.
    package init(
        journal: any Journal, limits: SessionLimits, registrations: [Registration] = [],
        services: LoopServices, placement: (any SessionPlacement)? = nil
    ) {
        precondition(
            placement != nil || journal.ownership == nil,
            "sessions of a shared journal need a placement")
        self.placement = placement
        self.journal = journal
        self.limits = limits
        self.services = services
        absent = AbsentSessions(registrations)
        turns = TurnMeter(journal.takeCrashSlot())
        let hop = services.hop
        commits = CommitPipeline(journal, limits, hop: hop)
        feeds = FeedLoop(
            journal, limits.feeds, services.work, uptime: services.uptime
        ) { job in hop { job($0.feeds) } }
        openings = OpeningQueue(feeds.background, feeds.pass)
        relays = StreamRelays(feeds.pass, hop: hop)
        feeds.upstream = self
        topics = TopicReaders(self, services.topics)
        expiry = SessionExpiry(self)
        relays.topics = topics
        journal.watchHistory { _ in _ = hop { LostHistory(table: $0).forget() } }
    }

    deinit { feeds.upstream = nil }

    /// Drops the shown state: it may have changed without a record, or its records were rolled
    /// back.
    package func dropShown() { shown = nil }

    /// The work on states of the present pass.
    package var pass: PassMeter { feeds.pass }

    /// Reads of the journal by streams.
    var background: BackgroundQueue { feeds.background }

    /// Milliseconds since 1970 (UTC).
    var time: Int64 { services.now() }

    /// Milliseconds of a clock that is never set.
    package var uptime: Int64 { services.uptime() }

    /// The call of a reactor's code that is under way, for other threads.
    package var presentWork: CrashSlotReader { turns.slot.reader }

    // MARK: Counts

    package var count: Int { sessions.count }

    /// The number of sessions in memory; sessions that are asleep and have subscribers
    /// do not count.
    package var awakeCount: Int { sessions.awakeCount }

    /// The number of subscribers of all sessions.
    package var subscriberCount: Int { feeds.subscribers.count }

    /// The number of sessions that the limit counts: those in memory, except those of topics.
    var limitedCount: Int { awakeCount - sessions.topicCount }

    /// Whether one more session fits.
    package var hasRoomForSession: Bool {
        limitedCount < limits.sessions && placement?.hasRoom ?? true
    }

    // MARK: Look-up

    package func find(_ id: SessionID) -> SessionLookup {
        if let session = sessions[id] { return .session(session) }
        // Another node may have created the session anew, or be able to rebuild it.
        if asleep(id) != nil || loads.operations.isDeleting(id) || placement != nil {
            return .notInMemory
        }
        return absent.find(id) ?? (journal.archive == nil ? .nothing : .notInMemory)
    }

    /// The result of ``find(_:)``; nil in place of `notInMemory`. Check it after a wait, because an
    /// earlier callback may have created the session.
    package func present(_ id: SessionID) -> SessionLookup? {
        let found = find(id)
        if case .notInMemory = found { return nil }
        return found
    }

    /// The session; nil if this incarnation of it has left memory.
    func session(_ id: SessionID, _ incarnation: UInt64) -> Session? {
        guard let session = sessions[id], session.incarnation == incarnation else { return nil }
        return session
    }

    /// The session; nil if it has no state in memory, or has ended.
    package func awake(_ id: SessionID) -> Session? {
        sessions[id].flatMap { $0.isAwake ? $0 : nil }
    }

    /// The sessions in memory, in no order.
    package var all: [Session] { Array(sessions.all) }

    /// The feed of a session that has only its subscribers in memory.
    package func asleep(_ id: SessionID) -> Feed? { sessions.asleep(id) }

    /// All of these feeds, in no order.
    package var asleep: [Feed] { sessions.asleep }

    /// The hosted reactor of this name.
    package func registration(_ name: String) -> Registration? { absent.registration(name) }

    /// Disconnects the subscribers of a session that is asleep. The subscribers of a followed
    /// session stay: they learn from the journal what became of it, and may still be getting its
    /// last events.
    package func abandonReaders(of id: SessionID) {
        if let feed = asleep(id), !feed.isElsewhere { feed.abandonReaders() }
    }

    /// Loads a session from the journal. Calls `act` later, on this loop, with the result that
    /// ``find(_:)`` has then, or with the reason why the session could not be loaded.
    ///
    /// - Parameter isWanted: Whether the caller still waits; if not, `act` may not be called.
    package func wake(
        _ id: SessionID, while isWanted: @escaping () -> Bool = { true },
        then act: @escaping (SessionLookup) -> Void
    ) {
        SessionLoader(table: self).load(id, while: isWanted, then: act)
    }

    /// Whether the session is being loaded from the journal.
    package func isLoading(_ id: SessionID) -> Bool { loads.operations.isLoading(id) }

    /// Wakes sessions that act without a request, a few at a time. Skips a session that is already
    /// in memory, is known to be quarantined, or belongs to another node.
    ///
    /// - Parameter done: Called once, on this loop, when all of them are done; never if the process
    ///   ends first.
    package func wakeWorking(_ ids: [SessionID], then done: @escaping () -> Void) {
        loads.wakeWorking(ids, in: self, then: done)
    }

    /// Finds a session: at once in memory, or later in the journal.
    func fetch(_ id: SessionID, then act: @escaping (SessionLookup) -> Void) {
        if let found = present(id) { act(found) } else { wake(id, then: act) }
    }

    /// Why today's code cannot rebuild the session, if that is known.
    package func fault(of head: SavedHead) -> RecoveryFault? {
        guard absent.registration(head.reactor) == nil, isHostedElsewhere(head.reactor) else {
            return absent.fault(of: head)
        }
        return nil
    }

    /// Whether another node hosts the reactor.
    package func isHostedElsewhere(_ reactor: String) -> Bool {
        reactor != Registration.topicName && placement?.isHostedElsewhere(reactor) ?? false
    }

    // MARK: Pages

    /// The first sessions of the range that are in memory, in the order of their ids. For journals
    /// without an archive.
    package func page(_ range: SessionRange) -> [Session] { sessions.page(range) }

    /// Reads the first sessions of the range that the journal has.
    ///
    /// - Returns: false if the journal has no archive. Then `act` is not called, and all sessions
    ///   are in memory.
    package func page(
        _ range: SessionRange, then act: @escaping (Result<[SavedHead], JournalFailure>) -> Void
    ) -> Bool {
        guard journal.archive != nil else { return false }
        ask({ archive, answer in archive.page(range, answer) }, then: act)
        return true
    }

    /// The first sessions in memory of a selection, the newest first. For journals without an
    /// archive. Examines every session, as ``page(_:)`` does.
    ///
    /// - Parameter loop: Makes positions in different tables distinct.
    package func taggedPage(
        _ selection: TagSelection, loop: Int
    ) -> [(place: TagPosition, session: Session)] {
        sessions.taggedPage(selection, loop: loop)
    }

    /// Reads the first sessions of a selection from the journal, the newest first.
    ///
    /// - Returns: false if the journal has no archive. Then `act` is not called.
    package func taggedPage(
        _ selection: TagSelection,
        then act: @escaping (Result<TaggedPage, JournalFailure>) -> Void
    ) -> Bool {
        guard journal.archive != nil else { return false }
        ask({ archive, answer in archive.taggedPage(selection, answer) }, then: act)
        return true
    }

    // MARK: Creation and deletion

    /// Creates a session. The answer is sent when the creation is committed.
    ///
    /// - Precondition: there is no session with this id, and there is room for one more.
    /// - Parameter saved: the state that the session begins with; nil: the initial state.
    /// - Throws: ``RecoveryFault`` if today's code cannot use `saved`.
    ///
    /// - Parameters:
    ///   - creation: Its owner, which ``SessionOwners`` has admitted, and its input, which the
    ///     registration has checked.
    ///   - charge: the charge of `saved`, until the creation is committed.
    package func create(
        _ id: SessionID, _ registration: Registration, for token: UInt64,
        with creation: SessionCreation = SessionCreation(), from saved: SavedSession? = nil,
        charge: WorkCharge? = nil
    ) throws(RecoveryFault) {
        var randomness = SystemRandomNumberGenerator()
        let generation = Generation(using: &randomness)
        let feed = Feed(id, generation, registration.events, saved, in: feeds)
        feed.creation = creation
        let session = try Session(feed, registration, self, saved: saved, isNew: true)
        // Subscribers of an earlier generation, which has just ended at another node, connect
        // again.
        if placement != nil {
            forgetOver(id)
            asleep(id)?.abandonReaders()
            absent.removeFault(of: id)
        }
        sessions.insert(session)
        placement?.creates(session, in: self)
        session.create(for: token, charge)
    }

    /// Deletes a session that ``find(_:)`` or ``wake(_:then:)`` found quarantined or unreadable.
    /// Calls `act` later, on this loop.
    package func delete(_ id: SessionID, then act: @escaping (DeletionOutcome) -> Void) {
        SessionDeleter(table: self).delete(id, then: act)
    }

    /// Remembers that a session has ended, so that requests for it get 410.
    package func rememberEnded(_ id: SessionID) { absent.insertEnded(id, limit: limits.remembered) }

    // MARK: Leaving memory

    /// Removes the feed of a followed session that has ended, because the id is used again. The
    /// feed's subscribers still get the last events, unless the journal cannot be read.
    func forgetOver(_ id: SessionID) {
        guard let over = asleep(id), over.isOver else { return }
        forget(over)
        over.advanceWaiting()
    }

    /// Removes a session that has ended, or that was never created because its first commit failed.
    ///
    /// - Parameter mayExist: Whether the journal may have the session all the same.
    func remove(_ session: Session, mayExist: Bool = false) {
        guard sessions.remove(session) else { return }
        placement?.left(session.id)
        if let owner = session.feed.owner, let owners = services.owners {
            if session.hasEnded {
                owners.ended(owner)
            } else if mayExist {
                owners.keep(owner)
            } else {
                owners.remove(owner)
            }
        }
        eviction.countEvicted()
        if session.hasEnded { rememberEnded(session.id) }
    }

    /// Begins a tick: puts to sleep the sessions that were not used for four ticks, and loads
    /// sessions that left memory with work to do. Call it at a fixed interval of a quarter of the
    /// idle time.
    ///
    /// - Returns: whether there is more to do, with ``continueTick()``.
    @discardableResult
    package func tick() -> Bool {
        eviction.beginTick()
        loads.tickBegan(in: self)
        placement?.tickBegan()
        topics.retry()
        dropShown()
        return continueTick()
    }

    /// Continues the tick with up to 500 idle sessions. Each of them may need a snapshot.
    ///
    /// - Returns: whether there is more to do.
    package func continueTick() -> Bool { eviction.evictIdle(500, in: self) }

    /// Whether the heap should be trimmed: enough sessions have left memory since this last
    /// returned true.
    package func takeHeapTrim() -> Bool {
        guard eviction.takeHeapTrim() else { return false }
        sessions.shrink()
        return true
    }

    /// Removes a session from memory that another node owns, or may own.
    package func depose(_ session: Session) {
        guard session.isAwake else { return }
        FailedCommit(session: session, failure: .moved(session.key), isVerdict: false).depose()
    }

    // MARK: Commits

    /// Submits the steps of this round to the journal, as one batch. Called once a round.
    package func commit() {
        commits.commit(in: self)
        placement?.flush(in: self)
    }

    /// Ends a pass of the loop: delivers events, as many as the pass has room for.
    ///
    /// - Returns: whether some are left to the next pass.
    package func deliver() -> Bool {
        feeds.deliveries.endPass(limits.deliveries)
        let isLate = feeds.presence.run(at: uptime)
        pass.end()
        return feeds.deliveries.count > 0 || isLate
    }

    /// Delivers all events that wait for the next passes, before connections are closed.
    package func deliverAll() { feeds.deliveries.makeAll() }

    /// The bytes of the snapshots that are taken before the process ends.
    private static let savedBytes = 16 << 20

    /// Takes missing snapshots before the process ends, small states first, and at most
    /// ``savedBytes``. For other sessions, a restart applies their records again. Calls `act` when
    /// the journal has finished everything that was submitted, with or without success.
    package func save(then act: @escaping () -> Void) {
        if journal.archive != nil {
            let missing = sessions.all.filter { $0.isRunning && !$0.isSaved }
                .map { (session: $0, bytes: $0.stateEstimate) }
                .sorted { $0.bytes < $1.bytes }
            let most = commits.waitingBytes + Self.savedBytes
            for (session, bytes) in missing where commits.waitingBytes + bytes <= most {
                session.save()
            }
        }
        commit()
        commits.whenCommitted(act)
    }

    /// Calls `act` when the journal has finished everything that was submitted before this call, or
    /// when the process ends.
    package func afterSubmitted(_ act: @escaping () -> Void) { commits.afterSubmitted(act) }

    /// Whether an effect runs, or an action of a Cycler waits. It examines every session. A pause
    /// between two attempts does not count, because the next process continues it.
    package var hasRunningEffects: Bool {
        sessions.all.contains { $0.machine?.hasRunningEffects ?? false }
    }

    /// The number of steps of effects that run.
    package var runningEffectCount: Int { effects.running.values.reduce(0, +) }

    /// Cancels every task of every session, because the process ends.
    package func stop() {
        topics.removeAll()
        for session in sessions.all { session.stop() }
        // Their readers have nothing left to wait for.
        for feed in sessions.asleep { feed.endUpkeep() }
        commits.abandonSteps()
        // The sessions refer to the table. A late job finds none of them.
        sessions.removeAll()
        dropShown()
        eviction.removeCandidates()
        loads.removeAll()
        timers.removeAll()
        placement?.removeAll()
        feeds.removeAll()
        openings.removeAll()
        relays.removeAll()
        commits.complete()
    }
}
