internal import ClientMachine
internal import Reactors

/// The parts of a driver that several threads reach: the machine, and what waits around it.
struct DriverCore {
    enum Carried: Hashable {
        case attempt(AttemptID)
        /// One beside the machine.
        case call(UInt64)
    }

    /// An output of the machine.
    struct Decision {
        let output: Output
        /// The typed part that followed the output's session then: another one may have taken its
        /// place when the output is carried out, and is not to get the news of an earlier one.
        let sink: (any SessionSink)?
    }

    struct Round {
        var outputs: [Decision]
        /// Bytes of streams that led to it.
        var bytes: Int
        /// Callers that wait until it is carried out.
        var callers: [CheckedContinuation<Void, Never>]
    }

    /// The bytes of streams that wait for the driver before it pauses their connections.
    static let pauseBytes = 1_048_576
    static let roundBytes = 65_536

    var machine: ClientMachine
    /// Invariant: bounded by ``pauseBytes`` and one chunk for each stream, and by the requests.
    private var inputs: [Input] = []
    /// News for the program, in the machine's order. Invariant: what an input has led to, and what
    /// the program has sent since the last round, which the outbox bounds.
    private var outputs: [Decision] = []
    /// Whether somebody waits for `outputs`.
    private var isAwaited = false
    var operations = DriverOperations()
    private var waitingBytes = 0
    /// Bytes of streams that have led to `outputs`.
    private var decidedBytes = 0
    /// Callers that wait until what is decided is shown.
    private var callers: [CheckedContinuation<Void, Never>] = []
    /// Whether a round is carried out.
    private var isBusy = false
    private var paused: Set<AttemptID> = []
    /// Invariant: the requests of which `ended` has not come; nil until there is a handle.
    private(set) var handles: [Carried: (any TransportHandle)?] = [:]
    /// Sends whose end this program has not seen. Invariant: bounded by the outbox.
    var tickets: [TicketNumber: Ticket] = [:]
    var sessions: [SessionName: FollowedSession] = [:]
    /// States that an earlier run saved, of sessions that this run has not followed.
    var savedStates: [SessionName: SavedState]
    /// Invariant: bounded by `ClientLimits.logs`.
    private(set) var logs: [LogID: LogSink] = [:]
    private var lastLog: UInt64 = 0
    var refusalReaders: [ReactorStream<RefusedSend>.Feed] = []
    var isClosing = false
    /// Resumed when the last request has ended, and no thread carries out operations.
    var whenIdle: CheckedContinuation<Void, Never>?
    private var lastCall: UInt64 = 0

    init(_ machine: ClientMachine, savedStates: [SessionName: SavedState] = [:]) {
        self.machine = machine
        self.savedStates = savedStates
    }

    /// Notes an input for the next round.
    mutating func post(_ input: Input) { if !isClosing { inputs.append(input) } }

    /// Notes bytes of a stream. Returns whether the connection can bring more now.
    mutating func receive(_ chunk: [UInt8], of id: AttemptID) -> TransportDemand {
        guard !isClosing else { return .more }
        inputs.append(.streamBytes(id, chunk))
        waitingBytes += chunk.count
        guard waitingBytes > Self.pauseBytes else { return .more }
        paused.insert(id)
        return .pause
    }

    /// Has the machine decide at once. Returns its outputs, which the next round carries out.
    mutating func decide(_ input: Input, at now: ClientInstant) -> [Output] {
        let new = machine.receive(input, at: now)
        add(new)
        switch input {
        case .send, .persisted:
            for output in new where !isAwaited { isAwaited = isAwaited(output) }
        default: isAwaited = true
        }
        return new
    }

    /// Whether a caller waits for this output of a send that is not answered yet. If none does, the
    /// output is shown together with the answer, or to the first caller that looks. To wake the
    /// task earlier would only delay the request.
    private func isAwaited(_ output: Output) -> Bool {
        switch output {
        case .deliver(_, .accepted), .deliver(_, .notAccepted), .persist, .request, .wakeMe: false
        case .deliver(let session, .shown), .deliver(let session, .status):
            sink(of: session)?.hasReaders ?? false
        case .deliver(_, .outcome(let number, .queued)), .deliver(_, .outcome(let number, .sent)):
            tickets[number]?.hasReaders ?? false
        default: true
        }
    }

    /// - Returns: where among the outputs sends are applied.
    @discardableResult
    private mutating func add(_ new: [Output]) -> [Int] {
        var applied: [Int] = []
        if outputs.isEmpty { outputs.reserveCapacity(16) }
        // Most outputs of an input are of one session.
        var known: (session: SessionName, sink: (any SessionSink)?)?
        for output in new {
            var sink: (any SessionSink)?
            switch output {
            case .deliver(let session, _), .keepState(let session, _):
                if case .deliver(_, .outcome(_, .applied)) = output {
                    applied.append(outputs.count)
                }
                if session != known?.session { known = (session, self.sink(of: session)) }
                sink = known?.sink
            case .deliverLog: break
            case .persist, .request, .cancelRequest, .openStream, .closeStream,
                .askForCredential, .wakeMe:
                operations.append(.output(output))
                continue
            }
            outputs.append(Decision(output: output, sink: sink))
        }
        return applied
    }

    /// To read a field of a value in a dictionary would copy the value.
    private func sink(of session: SessionName) -> (any SessionSink)? {
        sessions.index(forKey: session).map { sessions.values[$0].sink }
    }

    /// Has a caller wait until the machine's decisions are carried out. Returns false if they are:
    /// nobody resumes the caller then.
    mutating func wait(_ caller: CheckedContinuation<Void, Never>) -> Bool {
        guard isBusy || !outputs.isEmpty else { return false }
        callers.append(caller)
        return true
    }

    /// Has the machine decide on what has arrived, up to the bytes of one round.
    ///
    /// - Returns: where among the outputs sends are applied; nil if nothing had arrived.
    private mutating func decideOnInputs(at now: ClientInstant) -> [Int]? {
        var count = 0
        var applied: [Int] = []
        while count < inputs.count, decidedBytes < Self.roundBytes {
            if case .streamBytes(_, let chunk) = inputs[count] { decidedBytes += chunk.count }
            applied += add(machine.receive(inputs[count], at: now))
            count += 1
        }
        inputs.removeFirst(count)
        return count > 0 ? applied : nil
    }

    /// Has the machine decide on what has arrived, before the task does. Returns the ends of sends
    /// of which the senders can know at once.
    mutating func decideEarly(at now: ClientInstant) -> [(Ticket, MachineReceipt)] {
        guard !isClosing else { return [] }
        guard let applied = decideOnInputs(at: now) else { return [] }
        isAwaited = true
        return applied.compactMap { takeEnded(outputs[$0]) }
    }

    /// The end of a send that its sender can know before the program's code has run for its news,
    /// because nobody reads them as they come: neither the session's states nor the steps of the
    /// send. A caller that asks for the state waits for the news (`catchUp`).
    private mutating func takeEnded(_ decision: Decision) -> (Ticket, MachineReceipt)? {
        guard case .deliver(_, .outcome(let number, .applied(let receipt))) = decision.output,
            decision.sink?.hasReaders != true, let ticket = tickets[number], !ticket.hasReaders
        else { return nil }
        tickets[number] = nil
        return (ticket, receipt)
    }

    mutating func nextRound(at now: ClientInstant) -> Round? {
        let hasDecided = decideOnInputs(at: now) != nil
        isBusy = hasDecided || decidedBytes > 0 || !outputs.isEmpty || !callers.isEmpty
        isAwaited = false
        guard isBusy else { return nil }
        defer { (outputs, callers, decidedBytes) = ([], [], 0) }
        return Round(outputs: outputs, bytes: decidedBytes, callers: callers)
    }

    /// A round is carried out. Returns the connections that can bring more again.
    mutating func finishRound(_ bytes: Int) -> [any TransportHandle] {
        waitingBytes -= bytes
        guard waitingBytes <= Self.pauseBytes / 2 else { return [] }
        defer { paused = [] }
        return paused.compactMap { handles[.attempt($0)] ?? nil }
    }

    /// Whether no more events of the session come, as the server says.
    func hasEnded(_ session: SessionName) -> Bool {
        if case .ended = machine.status(session).link { true } else { false }
    }

    // MARK: The ends of work

    /// Whether the task has to be woken.
    var hasWork: Bool {
        !inputs.isEmpty || isAwaited || operations.needsThread || isClosing
    }

    var isIdle: Bool { handles.isEmpty && !operations.isTaken }

    /// - Returns: the closing driver, to be resumed.
    mutating func takeWhenIdle() -> CheckedContinuation<Void, Never>? {
        guard isIdle else { return nil }
        defer { whenIdle = nil }
        return whenIdle
    }

    // MARK: Requests under way

    /// - Returns: false if none may begin any more.
    mutating func begin(_ carried: Carried) -> Bool {
        guard !isClosing else { return false }
        handles.updateValue(nil, forKey: carried)
        return true
    }

    /// - Returns: whether the request has to be cancelled: the client closes already.
    mutating func started(_ carried: Carried, _ handle: any TransportHandle) -> Bool {
        // It may have ended within the call that has started it.
        guard handles[carried] != nil else { return false }
        handles.updateValue(handle, forKey: carried)
        return isClosing
    }

    mutating func ended(_ carried: Carried) { handles[carried] = nil }

    // MARK: Action logs

    mutating func newLog() -> LogID {
        lastLog += 1
        return LogID(lastLog)
    }

    mutating func add(_ log: LogSink) { logs[log.id] = log }

    mutating func removeLog(_ id: LogID) { logs[id] = nil }

    mutating func takeLogs(of session: SessionName? = nil) -> [LogSink] {
        let taken = logs.values.filter { session == nil || $0.session == session }
        for log in taken { logs[log.id] = nil }
        return taken
    }

    mutating func newCall() -> Carried {
        lastCall += 1
        return .call(lastCall)
    }
}

struct FollowedSession {
    let sink: any SessionSink
    var newestState: [UInt8]?
    /// The newest state that was given to the outbox.
    var saved: SavedState?
    /// The handle that the program's objects share.
    weak var hold: SessionHold?
}

/// The typed part of a session, to which its news go.
protocol SessionSink: AnyObject, Sendable {
    func receive(_ deliveries: [Delivery]) async
    /// Whether the program reads a stream of the session.
    var hasReaders: Bool { get }
    /// Nothing follows.
    func finish() async
}
