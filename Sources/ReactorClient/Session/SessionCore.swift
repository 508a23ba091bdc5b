internal import ClientMachine
internal import JSONCoding
internal import Reactors
internal import Synchronization

/// The typed part of a followed session: its states, and its readers.
///
/// An actor, because predictions run the program's code, which must not hold up a lock.
actor SessionCore<
    Action: Codable & Sendable, State: Codable & Sendable, Activity: Codable & Sendable
>: SessionSink {
    typealias Event = RemoteEvent<State, Activity>

    private var projection: Projection<Action, State>
    var readers = SessionReaders<State, Activity>() {
        didSet { published.hasReaders.store(readers.count > 0, ordering: .releasing) }
    }
    private var versions = VersionCount()
    private(set) var position: StreamPosition?
    private var pulseNames: Set<String> = []
    /// Assignments that the confirmed state lacks: the events of a record precede its state.
    private var freshPulses: [String: [UInt8]] = [:]
    /// A `reset` has come, and no state after it.
    private var isResetting = false
    private(set) var isOver = false
    /// The newest presence; nil: none has arrived.
    private(set) var presence: Presence?
    private var link = MachineLinkStatus.idle
    private let clock: DriverClock
    private let published = PublishedStatus()
    private var backlog: EventBacklog<State, Activity>?
    private var waiting: [ReactorStream<Readiness>.Feed] = []

    /// The end of the wait for the first state.
    enum Readiness: Sendable {
        case ready
        case failed(ClientFailure)
    }

    /// - Parameter keepsEvents: whether events are kept for the first reader of ``events(_:)``.
    init(_ projection: sending Projection<Action, State>, keepsEvents: Bool, clock: DriverClock) {
        self.projection = projection
        self.clock = clock
        backlog = keepsEvents ? EventBacklog() : nil
    }

    nonisolated var status: LinkStatus { published.status.withLock(\.self) }

    nonisolated var hasReaders: Bool { published.hasReaders.load(ordering: .acquiring) }

    var shown: State? { projection.makeShown() }
    var confirmed: State? { projection.confirmed }
    var version: UInt64? { versions.version }

    // MARK: News

    func receive(_ deliveries: [Delivery]) {
        for delivery in deliveries {
            switch delivery {
            case .snapshot(let snapshot): receive(snapshot)
            case .state(let event, let isConfirmed): receive(event, isConfirmed: isConfirmed)
            case .event(let event): receive(event)
            case .shown(let change): show(change)
            case .reset(let reason):
                isResetting = true
                versions.forget()
                report(.reset(reason: reason))
            case .presence(let data): receivePresence(data)
            case .ended(let reason): report(.ended(EndReason(reason)))
            case .status(let status): publish(status.link)
            case .outcome(_, .applied(let receipt)):
                if let version = receipt.version { versions.learn(version, at: receipt.position) }
            case .outcome, .accepted, .notAccepted: break
            }
        }
    }

    func finish() {
        guard !isOver else { return }
        isOver = true
        if case .ended = link {} else { set(.ended(.left)) }
        settleReadiness(.failed(.closed))
        readers.finish()
    }

    /// The number of mutations is known for a position.
    func learn(_ version: UInt64, at position: StreamPosition) {
        versions.learn(version, at: position)
    }

    private func receive(_ snapshot: SessionSnapshot) {
        // A program that continues after the position of a state that was read would miss events.
        if snapshot.origin != .reading { position = snapshot.position }
        if isResetting || snapshot.origin == .saved { versions.forget() }
        let pulses = snapshot.pulses.flatMap(JSON.members(of:)) ?? [:]
        pulseNames.formUnion(pulses.keys)
        if let state = snapshot.state {
            projection.confirm(state)
            republish()
            freshPulses = [:]
        }
        // Assignments before it may be missed. Of the first one nobody reads yet. A state that was
        // read is in the place of a snapshot that was lost, or is newer than the snapshot.
        if isResetting || (snapshot.origin == .stream && snapshot.state != nil) {
            presentPulses(pulses)
        }
        // A saved state is not how the session stands.
        guard snapshot.state != nil, snapshot.origin != .saved, projection.undecodable == nil,
            let confirmed = projection.confirmed
        else { return }
        report(.present(confirmed, Position(snapshot.position)))
    }

    /// Shows the readers of pulses the present values.
    ///
    /// - Parameter pulses: this program may know them although it cannot decode the state.
    private func presentPulses(_ pulses: [String: [UInt8]]) {
        if projection.undecodable == nil, let confirmed = projection.confirmed {
            readers.present(confirmed)
        } else if isResetting {
            for (name, value) in pulses { readers.assign(name, value) }
        }
        isResetting = false
    }

    private func receive(_ event: StreamEvent, isConfirmed: Bool) {
        position = event.position
        versions.count(event.position)
        freshPulses = [:]
        var state: State?
        if isConfirmed {
            projection.confirm(event.data)
            republish()
            if projection.undecodable == nil { state = projection.confirmed }
            // The snapshot of the reset was lost with its connection, or none was to come.
            if isResetting, state != nil { presentPulses([:]) }
        } else if wantsEvents {
            state = try? JSON.decode(State.self, from: event.data)
        }
        if let state { report(.state(state, Position(event.position))) }
    }

    private func receive(_ event: StreamEvent) {
        position = event.position
        if !isPulse(event.name), let activity = try? JSON.decode(Activity.self, from: event.data) {
            readers.report(activity)
            return report(.activity(activity, Position(event.position)))
        }
        freshPulses[event.name] = event.data
        readers.assign(event.name, event.data)
        report(
            .pulse(
                RemotePulse(
                    name: event.name, position: Position(event.position), data: event.data)))
    }

    private func isPulse(_ name: String) -> Bool {
        if pulseNames.isEmpty, let state = projection.confirmed {
            pulseNames = Set(JSON.pulses(of: state).map(\.name))
        }
        return pulseNames.contains(name)
    }

    private func show(_ change: ShownChange) {
        projection.show(change)
        guard projection.isShown else {
            if let fault = projection.undecodable {
                settleReadiness(.failed(.undecodable(fault.reason)))
            }
            return
        }
        if readers.wantStates, let shown { readers.show(shown) }
        settleReadiness(.ready)
    }

    private var wantsEvents: Bool { backlog != nil || readers.wantEvents }

    private func report(_ event: Event) {
        backlog?.append(event)
        readers.report(event)
    }

    private func receivePresence(_ data: [UInt8]) {
        guard let known = try? JSON.decode(SentPresence.self, from: data).presence else { return }
        presence = known
        readers.report(known)
    }

    // MARK: Status

    private func publish(_ status: MachineLinkStatus) {
        link = status
        republish()
        switch status {
        case .failed(let problem):
            settleReadiness(.failed(.refused(ProblemDetails(problem))))
        case .ended(let reason):
            settleReadiness(.failed(.ended(EndReason(reason))))
            readers.finish()
            isOver = true
        case .idle, .connecting, .live, .waiting, .stopped: break
        }
    }

    private func republish() {
        set(LinkStatus(link, undecodable: projection.undecodable?.reason, clock: clock))
    }

    private func set(_ status: LinkStatus) {
        let isNew = published.status.withLock { published in
            defer { published = status }
            return published != status
        }
        if isNew { readers.report(status) }
    }

    // MARK: Waiting for the first state

    func readiness() -> ReactorStream<Readiness> {
        let (stream, feed) = ReactorStream<Readiness>.make(buffer: 1)
        waiting.append(feed)
        if projection.isShown { settleReadiness(.ready) }
        switch status {
        case .failed(let problem): settleReadiness(.failed(.refused(problem)))
        case .ended(let reason): settleReadiness(.failed(.ended(reason)))
        default: break
        }
        return stream
    }

    private func settleReadiness(_ readiness: Readiness) {
        for feed in waiting {
            _ = feed.push(readiness)
            feed.finish()
        }
        waiting = []
    }

    // MARK: For readers

    /// The pulse's newest value as JSON, if the confirmed state does not contain it.
    func freshPulse(_ name: String) -> [UInt8]? { freshPulses[name] }

    func takeBacklog() -> EventBacklog<State, Activity>? {
        defer { backlog = nil }
        return backlog
    }

    func forget(_ reader: UInt64) { readers.remove(reader) }
}

/// Who is present, as the service sends it.
private struct SentPresence: Decodable {
    let present: [String]?
    let count: Int?
    let others: Int

    var presence: Presence { Presence(present: present ?? [], count: count, others: others) }
}

/// The properties that any thread can read.
private final class PublishedStatus: Sendable {
    let status = Mutex(LinkStatus.idle)
    let hasReaders = Atomic(false)
}

/// Events that were there before anybody read them.
struct EventBacklog<State: Sendable, Activity: Sendable> {
    static var limit: Int { 4_096 }

    private(set) var events: [RemoteEvent<State, Activity>] = []
    /// Whether later events are left out.
    private(set) var isCut = false

    mutating func append(_ event: RemoteEvent<State, Activity>) {
        if events.count < Self.limit { events.append(event) } else { isCut = true }
    }
}
