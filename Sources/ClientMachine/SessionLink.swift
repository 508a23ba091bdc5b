/// One session of a client: what the machine knows of it beside its outbox.
struct SessionLink: Sendable {
    enum Creation: Equatable, Sendable {
        /// The session exists, or must exist without this client.
        case settled
        /// A request that makes it is due or under way.
        case due
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
    /// Why no more events come.
    var end: EndReason?
    /// The server's refusal to serve it.
    var failure: ProblemDetails?
    /// The server's refusal of the program's credentials, in a post.
    var pause: ProblemDetails?
    /// The change of the shown state that is not delivered.
    private(set) var change = ShownChange()
    var deliveredStatus: SessionStatus?
    /// The position of the newest state to save.
    private(set) var kept: StreamPosition?

    init(name: SessionName) { self.name = name }

    var demand: Demand { following?.demand ?? .nothing }
    private var predicts: Bool { following?.predicts ?? false }

    /// Whether events of it are wanted, if any come.
    var wantsEvents: Bool { !demand.isEmpty && end == nil && failure == nil }

    /// Whether a stream can be had for them.
    var wantsStream: Bool { wantsEvents && creation == .settled }

    mutating func follow(_ new: Following, queued: [OutboxEntry]) {
        let followedStates = demand.states && following?.predicts == new.predicts
        if following == nil || new.after != nil { reader = SessionReader(after: new.after) }
        following = new
        if !followedStates {
            reader.forgetState()
            change = ShownChange(joined: new.predicts ? overlay.entries + queued : [])
        }
    }

    /// Begins with a state that was saved.
    ///
    /// - Returns: the state to deliver; nil if states are not followed.
    mutating func restore(_ saved: SavedState) -> SessionSnapshot? {
        guard demand.states, let state = saved.state else { return nil }
        reader.restore(saved.position, isContinued: following?.after == saved.position)
        kept = saved.position
        advanceBase()
        return SessionSnapshot(.saved, position: saved.position, state: state)
    }

    /// The position of a state that can be saved and is not.
    mutating func takeKept() -> StreamPosition? {
        guard demand.states, let position = reader.settled, position != kept,
            !overlay.isUncertain
        else { return nil }
        kept = position
        return position
    }

    mutating func join(_ entry: OutboxEntry) {
        if predicts { change.joined.append(entry) }
    }

    mutating func leave(_ tickets: [Ticket]) {
        guard predicts else { return }
        for ticket in tickets {
            if let index = change.joined.firstIndex(where: { $0.ticket == ticket }) {
                change.joined.remove(at: index)
            } else {
                change.left.append(ticket)
            }
        }
    }

    mutating func advanceBase() { change.advancesBase = true }

    /// The change of the shown state to deliver now, if there is one (R3).
    mutating func takeChange() -> ShownChange? {
        guard reader.confirmed != nil, !change.isEmpty else { return nil }
        if predicts, overlay.heldUntil != nil {
            // The state below is held. The program's own further actions show at once.
            let held = overlay.heldTickets
            let joined = change.joined.filter { !held.contains($0.ticket) }
            change.joined.removeAll { !held.contains($0.ticket) }
            return joined.isEmpty ? nil : ShownChange(joined: joined)
        }
        defer { change = ShownChange() }
        return change
    }
}
