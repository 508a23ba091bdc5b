/// One session of a client: what the machine knows of it beside its outbox.
struct SessionLink: Sendable {
    enum Creation: Equatable, Sendable {
        /// The session exists, or must exist without this client.
        case settled
        /// A request that makes it is due or under way.
        case due
    }

    /// How it is followed, as far as its stream does not decide.
    enum Standing {
        case idle
        case ended(EndReason)
        case failed(ProblemDetails)
        case creating(SessionName)
        case followed
    }

    /// Whether the state has to be read beside the stream.
    enum ReadBack {
        case none
        /// An answer is not confirmed: a record without an event on this stream never is.
        case later
        /// The stream has resumed, and no state is known.
        case now
    }

    /// The result of the end of an input.
    struct Settled {
        var change: ShownChange?
        /// The position of a state to save.
        var kept: StreamPosition?
        var reports: [(ticket: Ticket, receipt: Receipt)]
        var readBack: ReadBack
        var standing: Standing
        /// Whether the shown state is held until some moment.
        var isHeld: Bool
        /// Whether only the outbox needs it.
        var isUnused: Bool
    }

    let name: SessionName
    /// Nil while its events are not followed.
    var following: Following?
    var creation = Creation.settled
    var reader = SessionReader()
    var overlay = Overlay()
    var narrowing = Narrowing()
    /// Whether the sent request is durable.
    var isSaved = true
    /// Whether an attempt of the sent request may have been carried out without an answer.
    var isUnclear = false
    /// The refusal of the sent request, if the server refused it without looking for its key. Until
    /// the server has said that it does not know the key, attempts only ask for its answer.
    var question: ProblemDetails?
    /// An earlier run of the program sent the request, so only its date shows its age.
    var isOfEarlierLife = false
    /// The attempts of the sent request for which its time was too short.
    private(set) var timeouts = 0
    /// The bytes of actions in a request, after requests that took too long.
    private var batchBytes: Int?
    /// The key of the last request that was applied, which the server can forget (ADR-0072).
    private(set) var doneKey: RequestKey?
    /// Why no more events come.
    var end: EndReason?
    /// The server's refusal to serve it.
    var failure: ProblemDetails?
    /// The change of the shown state that is not delivered.
    private(set) var change = PendingChange()
    private var deliveredStatus: SessionStatus?
    /// The position of the newest state to save.
    private(set) var kept: StreamPosition?

    init(name: SessionName) { self.name = name }

    var demand: Demand { following?.demand ?? .nothing }
    private var predicts: Bool { following?.predicts ?? false }

    var canPost: Bool { creation == .settled }

    mutating func makes() -> SessionMaking? { following?.makes }

    mutating func sendRefusal(within limits: ClientLimits) -> SendRefusal? {
        if end == .deleted { return .ended }
        if let failure, creation == .due { return .unusable(failure) }
        return overlay.hasRoom(within: limits) ? nil : .outboxFull
    }

    /// - Returns: the number of sends that a request may have, nil: any number; and the bytes of
    ///   its actions, unless it has one send. Nil if no request can be sent now.
    mutating func nextRequest(within limits: ClientLimits) -> (most: Int?, bytes: Int)? {
        canPost ? (narrowing.most, batchBytes ?? limits.bytesInRequest) : nil
    }

    /// The sent request took too long: the next ones are half as large.
    mutating func noteTimeout(within limits: ClientLimits) {
        timeouts += 1
        let half = (batchBytes ?? limits.bytesInRequest) / 2
        batchBytes = max(half, limits.leastBytesInRequest)
    }

    mutating func begin(_ sent: SentRequest, at now: Duration) {
        (isSaved, isUnclear, isOfEarlierLife, timeouts) = (false, false, false, 0)
        question = nil
        overlay.add(sent, at: now)
    }

    /// The uptime of the first attempt of the sent request; nil if it cannot be sent now.
    mutating func firstAttempt(of key: RequestKey, at now: Duration) -> Duration? {
        isSaved && canPost ? overlay.firstAttempt(of: key) ?? now : nil
    }

    mutating func answer(
        _ sent: SentRequest, with receipt: Receipt, within limits: ClientLimits
    ) {
        // This request has delivered the previous done key.
        doneKey = sent.key
        // A request that was answered in time makes the next ones larger again.
        if timeouts == 0, let bytes = batchBytes {
            batchBytes = bytes * 2 < limits.bytesInRequest ? bytes * 2 : nil
        }
        narrowing.finish(sent.entries.count)
        overlay.answer(sent.key, with: receipt)
    }

    /// Whether events of it are wanted, if any come.
    var wantsEvents: Bool { !demand.isEmpty && end == nil && failure == nil }

    mutating func asksForEvents() -> Bool { wantsEvents }

    /// Whether a stream can be had for them.
    var wantsStream: Bool { wantsEvents && creation == .settled }

    mutating func follow(_ new: Following, queued: [OutboxEntry]) {
        let followedStates = demand.states && following?.predicts == new.predicts
        if following == nil || new.after != nil { reader = SessionReader(after: new.after) }
        following = new
        if !followedStates {
            reader.forgetState()
            overlay.forgetState()
            change = PendingChange(joined: new.predicts ? overlay.entries + queued : [])
        }
    }

    /// Begins with a saved state. Returns the state to deliver; nil if states are not followed.
    mutating func restore(_ saved: SavedState) -> SessionSnapshot? {
        guard demand.states, let state = saved.state else { return nil }
        reader.restore(
            saved.position, state, isContinued: following?.after == saved.position)
        kept = saved.position
        advanceBase()
        return SessionSnapshot(.saved, position: saved.position, state: state)
    }

    /// The position of a state that can be saved and is not.
    private mutating func takeKept() -> StreamPosition? {
        guard demand.states, let position = reader.settled, position != kept,
            !overlay.isUncertain
        else { return nil }
        kept = position
        return position
    }

    /// The meaning of a block, and what the reader knew before it.
    struct Read {
        var reading: SessionReader.Reading
        /// Whether events before it are lost.
        var isBehindGap: Bool
        /// Whether anything was seen before.
        var isContinued: Bool
        /// Whether no state was known before, or one that the stream does not continue.
        var isUnknown: Bool
    }

    mutating func read(_ block: StreamBlock, _ context: StreamConnection.Context) -> Read {
        let (before, isContinued) = (reader.confirmed, reader.seen != nil)
        var isBehindGap = false
        if context.isFirst, !["snapshot", "reset"].contains(block.name),
            let position = block.position
        {
            isBehindGap = reader.skips(to: position)
        }
        // Read after `skips(to:)`: if events before this block are lost, that marks the state as
        // stale.
        let isUnknown = before == nil || reader.isStale
        let reading = reader.receive(block, demand: context.demand)
        if reader.confirmed != before { advanceBase() }
        return Read(
            reading: reading, isBehindGap: isBehindGap, isContinued: isContinued,
            isUnknown: isUnknown)
    }

    /// An event has advanced the confirmed state.
    ///
    /// - Parameter isFirst: as ``Read/isUnknown``.
    mutating func observe(
        _ block: StreamBlock, _ position: StreamPosition, _ context: StreamConnection.Context,
        isFirst: Bool, at now: Duration, holdUntil end: Duration
    ) -> Bool {
        // The state, and what is over it, is of an earlier life until that of this one is read.
        if let confirmed = reader.confirmed, confirmed.generation != position.generation {
            return false
        }
        for entry in overlay.beginLife(position.generation) { join(entry) }
        // Live events have their causes. A snapshot never has one, and a replay need not (R10).
        let isSnapshot = block.name == "snapshot"
        return overlay.observe(
            position, cause: block.cause, isWhole: isSnapshot, isFirst: isFirst,
            opened: isSnapshot ? now : context.openedAt, holdUntil: end)
    }

    /// Decides what follows at the end of an input.
    ///
    /// - Parameter isLive: whether its stream is open.
    mutating func settle(
        isLive: Bool, keepsStates: Bool, at now: Duration, holdFor limit: Duration
    ) -> Settled {
        overlay.passTime(isContinued: isLive && reader.isCurrent, at: now, holdFor: limit)
        leave(overlay.cover(upTo: reader.confirmed, isStale: reader.isStale))
        let reports = overlay.takeReports(
            isConfirming: demand.states && isLive, keepsUncovered: demand.states)
        return Settled(
            change: takeChange(), kept: keepsStates ? takeKept() : nil, reports: reports,
            readBack: readBack(isLive: isLive), standing: standing,
            isHeld: overlay.heldUntil != nil,
            isUnused: following == nil && overlay.requests.isEmpty)
    }

    var standing: Standing {
        if let end { return .ended(end) }
        if let failure { return .failed(failure) }
        if creation == .due { return .creating(name) }
        return wantsStream ? .followed : .idle
    }

    private func readBack(isLive: Bool) -> ReadBack {
        // A snapshot is about to come: an answer that it does not contain is read later.
        guard demand.states, end == nil, !reader.awaitsSnapshot else { return .none }
        let lacksState = reader.confirmed == nil || reader.isStale
        if lacksState && reader.seen != nil && isLive { return .now }
        return overlay.awaitsConfirmation ? .later : .none
    }

    /// - Returns: whether the status is another one than before.
    mutating func changeStatus(_ status: SessionStatus) -> Bool {
        guard status != deliveredStatus else { return false }
        deliveredStatus = status
        return true
    }

    mutating func join(_ entry: OutboxEntry) {
        if predicts { change.join(entry) }
    }

    /// The confirmed state contains the sends.
    private mutating func leave(_ tickets: [Ticket]) {
        guard predicts else { return }
        for ticket in tickets { change.leave(ticket) }
    }

    /// The send has failed, or was taken back.
    mutating func rollBack(_ ticket: Ticket) {
        if predicts { change.rollBack(ticket) }
    }

    mutating func advanceBase() { change.advancesBase = true }

    /// The change of the shown state to deliver now, if there is one (R3).
    private mutating func takeChange() -> ShownChange? {
        guard reader.confirmed != nil, !change.isEmpty else { return nil }
        if predicts, overlay.isHeld { return change.takeOwn(except: overlay.heldTickets) }
        return change.takeAll()
    }
}
