// Design: a client without I/O, clock and randomness of its own. Each input is answered with the
// things to do, in order. So every race is a sequence of inputs that a test can write down.
//
// A session's actions go through its lane of the outbox: one request at a time, saved before it
// is sent, sent again under the same key until the server's answer is known. Its events come on
// a stream that several sessions share; the position up to which they are seen resumes it
// exactly. The overlay connects both directions: it knows which actions the confirmed state does
// not contain yet.

/// The client of one server: which request, which stream, and which news for the program.
package struct ClientMachine: Sendable {
    let server: ServerAddress
    let limits: ClientLimits
    private let keepsStates: Bool
    private let savesChanges: Bool
    let presence: ClientPresence
    var generator: any RandomNumberGenerator & Sendable
    var writer: OutboxWriter
    var attempts: AttemptTable
    var links = LinkTable()
    var streams = StreamTable()
    /// The sessions whose shown state is held.
    var holding = SessionSet()
    /// The sessions whose links have changed in this input.
    var touched = SessionSet()
    var outputs: [Output] = []
    private var wakeTime: Duration?
    private var isRestored = false

    /// - Parameters:
    ///   - outbox: the saved one, or an empty one. Its requests are sent again at the first input.
    ///   - asksForCredentials: whether requests need credentials.
    ///   - savesChanges: whether changes of the outbox have to be made durable. Else `persist` is
    ///     no output, and what follows from a change is an output of the input that has led to it.
    ///     Default: true.
    ///   - generator: for keys and jitter. Keys must not be guessable: use the system's generator.
    package init(
        server: ServerAddress, outbox: Outbox = .init(), asksForCredentials: Bool = false,
        keepsStates: Bool = false, savesChanges: Bool = true, presence: ClientPresence = .off,
        limits: ClientLimits = .init(),
        using generator: any RandomNumberGenerator & Sendable
    ) {
        self.server = server
        self.limits = limits
        self.keepsStates = keepsStates
        self.savesChanges = savesChanges
        self.presence = presence
        self.generator = generator
        writer = OutboxWriter(outbox)
        attempts = AttemptTable(asksForCredentials: asksForCredentials, limits: limits)
    }

    package var outbox: Outbox { writer.outbox }

    /// The position up to which the session's events were delivered: the one to resume from.
    package func position(_ session: SessionName) -> StreamPosition? { links[session]?.reader.seen }

    package func status(_ session: SessionName) -> SessionStatus {
        SessionStatus(
            link: linkStatus(
                links[session]?.standing ?? .idle, streams.carrier(of: session), session),
            pending: outbox.actionCount(of: session))
    }

    /// Decides what follows from an input.
    package mutating func receive(_ input: Input, at now: ClientInstant) -> [Output] {
        // An output is large: an array that grows copies each several times.
        outputs.reserveCapacity(8)
        restore(at: now)
        perform(input, at: now)
        performDue(at: now)
        settleTouched(at: now)
        if !savesChanges { makeDurable(at: now) }
        while performQueued(at: now) {
            settleTouched(at: now)
            if !savesChanges { makeDurable(at: now) }
        }
        reportTime()
        defer { outputs = [] }
        if savesChanges, let saved = writer.takeChanges() {
            outputs.insert(.persist(saved.number, saved.changes), at: 0)
        }
        return outputs
    }

    /// Continues as if `persisted` had come for the changes, which have not to be saved.
    private mutating func makeDurable(at now: ClientInstant) {
        // A consequence can lead to further changes, each of which takes sends from the outbox.
        while let saved = writer.takeChanges() {
            persisted(saved.number, at: now)
            performDue(at: now)
            settleTouched(at: now)
        }
    }

    private mutating func perform(_ input: Input, at now: ClientInstant) {
        switch input {
        case .send(let session, let actions, let options): send(actions, options, session, at: now)
        case .discard(let ticket, let session): discard(ticket, session)
        case .seen(let ticket): writer.record(.seen(ticket))
        case .resend(let ticket, let session): resend(ticket, session, at: now)
        case .revive(let session): revive(session, at: now)
        case .follow(let session, let following): follow(session, following, at: now)
        case .leave(let session): leave(session, at: now)
        case .readLog(let id, let reading): readLog(id, reading, at: now)
        case .logRead(let id, let amount): logRead(id, amount, at: now)
        case .closeLog(let id): closeLog(id)
        case .wake: wake(at: now)
        case .persisted(let number): persisted(number, at: now)
        case .persistDelayed(let until, let reason): persistDelayed(until, reason)
        case .persistFailed(let reason): persistFailed(reason)
        case .credential(let id, let credential): receive(credential, for: id, at: now)
        case .answered(let id, let response): answered(id, response, at: now)
        case .requestFailed(let id, let cause): failed(id, cause, at: now)
        case .streamOpened(let id, let response): streamOpened(id, response, at: now)
        case .streamBytes(let id, let bytes): streamBytes(id, bytes, at: now)
        case .streamEnded(let id, let failure): streamEnded(id, failure, at: now)
        case .timer: break
        }
    }

    /// Continues with the sends of an earlier life of the program.
    private mutating func restore(at now: ClientInstant) {
        guard !isRestored else { return }
        isRestored = true
        for session in outbox.lanes.keys.sorted(by: { $0.text < $1.text }) {
            makeLink(session)
            continuePosting(session, at: now)
        }
    }

    mutating func makeLink(_ session: SessionName) {
        if !links.contains(session) { links[session] = SessionLink(name: session) }
        touched.insert(session)
    }

    mutating func deliver(_ delivery: Delivery, to session: SessionName) {
        outputs.append(.deliver(session, delivery))
    }

    // MARK: Following

    private mutating func follow(_ session: SessionName, _ new: Following, at now: ClientInstant) {
        makeLink(session)
        if links[session]?.following == nil {
            // A stream that was left a moment ago and still brings the session has no
            // snapshot for it.
            streams.end(session)
            dropEmptyStreams()
        }
        if !streams.followed.contains(session) { streams.followed.append(session) }
        let isMade =
            links[session]?.following?.makes == new.makes && links[session]?.end == nil
            && links[session]?.creation == .settled
        let queued = outbox[session].queued
        let isFollowed = links[session]?.following != nil
        links[session]?.follow(new, queued: queued)
        if !isFollowed, let saved = new.saved.flatMap({ links[session]?.restore($0) }) {
            deliver(.snapshot(saved), to: session)
        }
        links[session]?.failure = nil
        links[session]?.end = nil
        attempts.forget(.revive(session))
        if new.makes != nil, !isMade { create(session, at: now) }
        changePlan(at: now)
    }

    private mutating func leave(_ session: SessionName, at now: ClientInstant) {
        guard links[session]?.following != nil else { return }
        links[session]?.following = nil
        attempts.forget(.revive(session))
        streams.followed.removeAll { $0 == session }
        touched.insert(session)
        changePlan(at: now)
    }

    /// Has the session made by the server, before anything else of it.
    mutating func create(_ session: SessionName, at now: ClientInstant) {
        links[session]?.creation = .due
        touched.insert(session)
        begin(.create(session), at: now)
    }

    /// C4: replaces silent streams, ends waits, and tries what the server has refused to serve.
    private mutating func wake(at now: ClientInstant) {
        attempts.wake(at: now.uptime)
        for session in links.keys.sorted(by: { $0.text < $1.text }) {
            revive(session, at: now)
            touched.insert(session)
            if links[session]?.creation == .due { begin(.create(session), at: now) }
            continuePosting(session, at: now)
        }
        replaceSilentStreams(at: now)
        changePlan(at: now)
    }

    // MARK: The end of an input

    private mutating func settleTouched(at now: ClientInstant) {
        guard !touched.isEmpty else { return }
        for session in touched.sorted { settle(session, at: now) }
        touched.removeAll()
    }

    private mutating func settle(_ session: SessionName, at now: ClientInstant) {
        let (carrier, keepsStates, hold) = (streams.carrier(of: session), keepsStates, limits.hold)
        let isLive = carrier?.isOpen ?? false
        // In place: a link is large, and this is done for each input.
        let settled = links[session]?.settle(
            isLive: isLive, keepsStates: keepsStates, at: now.uptime, holdFor: hold)
        guard let settled else { return }
        if settled.isHeld {
            holding.insert(session)
        } else if !holding.isEmpty {
            holding.remove(session)
        }
        if let change = settled.change { deliver(.shown(change), to: session) }
        if let kept = settled.kept { outputs.append(.keepState(session, kept)) }
        for report in settled.reports {
            deliver(.outcome(report.ticket, .applied(report.receipt)), to: session)
        }
        schedule(settled.readBack, session, at: now)
        let status = SessionStatus(
            link: linkStatus(settled.standing, carrier, session),
            pending: outbox.actionCount(of: session))
        if links[session]?.changeStatus(status) == true { deliver(.status(status), to: session) }
        if settled.isUnused, outbox.lanes[session] == nil { forget(session) }
    }

    /// Removes a session that nobody follows and that has nothing to send.
    private mutating func forget(_ session: SessionName) {
        links[session] = nil
        for purpose in [
            Purpose.post(session), .create(session), .readBack(session),
            .lookUp(session, ofLog: false),
        ] {
            if let id = attempts.remove(purpose) { outputs.append(.cancelRequest(id)) }
        }
    }

    private mutating func reportTime() {
        var earliest = attempts.findEarliest()
        if let planTime = streams.planTime { earliest = min(earliest ?? planTime, planTime) }
        for session in holding.sorted {
            guard let end = links[session]?.overlay.heldUntil else { continue }
            earliest = min(earliest ?? end, end)
        }
        guard earliest != wakeTime else { return }
        wakeTime = earliest
        outputs.append(.wakeMe(at: earliest))
    }
}
