internal import JSONCoding

/// One block of a stream, for one session.
struct StreamBlock: Equatable {
    /// Empty if the block has an id alone.
    var name: String
    var data: [UInt8]
    var position: StreamPosition?
    var cause: String?
    /// Whether states may come as patches of the previous one (C8).
    var isPatch = false

    var isState: Bool { isPatch || name == "state" }

    /// That of an `end` or a `reset`.
    var reason: String? {
        struct Reason: Decodable { let reason: String? }
        return (try? JSON.decode(Reason.self, from: data))?.reason
    }

    /// That of an `end`.
    var endReason: EndReason { reason.flatMap(EndReason.init) ?? .deleted }
}

/// The events of one session's stream: each once, in order.
struct SessionReader: Equatable, Sendable {
    /// Everything up to here is seen: the position to resume from.
    private(set) var seen: StreamPosition?
    /// The position of the newest state (R1). It may be past `seen`, when a state was read.
    private(set) var confirmed: StreamPosition?
    /// The events that are seen do not continue the state: only another state can follow it.
    private(set) var isStale = false
    /// A `reset` has come, and its snapshot has not: nothing before that can be continued. Likewise
    /// while the state is one of an earlier life of the program, and is not continued.
    private(set) var awaitsSnapshot = false
    /// The state at `seen`, to which a patch applies; nil while it is unknown (C8). A state from
    /// another request does not count.
    private(set) var patchBase: EventContent?

    init(after position: StreamPosition? = nil) { seen = position }

    enum Reading: Equatable {
        case nothing
        case deliver(Delivery)
        /// The block does not have the form that the server writes.
        case malformed(String)
    }

    /// Begins with a state that was saved.
    ///
    /// - Parameter isContinued: whether the events continue it; else a snapshot takes its place.
    mutating func restore(_ position: StreamPosition, _ state: [UInt8], isContinued: Bool) {
        confirmed = position
        awaitsSnapshot = !isContinued
        patchBase = isContinued ? .text(state) : nil
    }

    /// The position up to which everything is seen; nil if the state is not the one there.
    var settled: StreamPosition? {
        guard !awaitsSnapshot, !isStale, let seen, let confirmed, seen.reaches(confirmed) else {
            return nil
        }
        return seen
    }

    /// Whether the events that come continue the state.
    var isCurrent: Bool { confirmed != nil && !isStale && !awaitsSnapshot }

    /// Forgets the state, because the following events do not keep it current.
    mutating func forgetState() { (confirmed, isStale, patchBase) = (nil, false, nil) }

    /// Whether a stream that was opened without a position begins after what another one has
    /// brought meanwhile. The state is not continued then.
    mutating func skips(to position: StreamPosition) -> Bool {
        guard let seen, !awaitsSnapshot, !seen.reaches(position) else { return false }
        isStale = confirmed != nil
        patchBase = nil
        return true
    }

    /// A stream without a snapshot is opened. If a reset's snapshot was lost before, none comes.
    mutating func beginAgain() {
        guard awaitsSnapshot else { return }
        awaitsSnapshot = false
        isStale = confirmed != nil
    }

    /// Reads a block.
    ///
    /// - Parameter demand: that of the stream, which decides the form of a snapshot.
    mutating func receive(_ block: StreamBlock, demand: Demand) -> Reading {
        switch block.name {
        case "ping": return .nothing
        case "reset": return reset(block, demand)
        case "end": return .deliver(.ended(block.endReason))
        default: break
        }
        guard let position = block.position else {
            return .malformed("the event \(block.name) has no position")
        }
        // The state does not keep up with the events of such a stream.
        if !demand.states { patchBase = nil }
        switch block.name {
        case "": return advance(position, demand)
        case "snapshot": return snapshot(block, position, demand)
        default: return event(block, position, demand)
        }
    }

    /// A state that was read beside the stream. Returns whether it is the newest one.
    mutating func read(_ position: StreamPosition) -> Bool {
        if let seen, seen.generation != position.generation { return false }
        if let confirmed, !isStale {
            if confirmed.reaches(position) { return false }
        } else if let seen, !position.reaches(seen) {
            // It lacks what the stream has brought meanwhile.
            return false
        }
        (confirmed, isStale) = (position, false)
        return true
    }

    private mutating func reset(_ block: StreamBlock, _ demand: Demand) -> Reading {
        // A connection that is cut between `reset` and `snapshot` begins afresh: to resume from the
        // position of the reset would skip the snapshot.
        seen = demand.hasSnapshot ? nil : block.position
        awaitsSnapshot = demand.hasSnapshot
        patchBase = nil
        return .deliver(.reset(reason: block.reason ?? ""))
    }

    private mutating func snapshot(
        _ block: StreamBlock, _ position: StreamPosition, _ demand: Demand
    ) -> Reading {
        if let seen, seen.reaches(position) { return .nothing }
        var snapshot = SessionSnapshot(position: position)
        if demand.states && demand.pulses != .none, let members = JSON.members(of: block.data),
            members.count == 2, let state = members["state"], let pulses = members["pulses"]
        {
            (snapshot.state, snapshot.pulses) = (state, pulses)
        } else if demand.states {
            // Of a reactor without pulses the snapshot is the state alone.
            snapshot.state = block.data
        } else {
            snapshot.pulses = block.data
        }
        seen = position
        patchBase = snapshot.state.map(EventContent.text)
        // A state that was read meanwhile can be newer. After a reset only the snapshot counts.
        if !awaitsSnapshot, !isStale, let confirmed, confirmed.reaches(position) {
            snapshot.state = nil
        } else if demand.states {
            (confirmed, isStale) = (position, false)
        }
        awaitsSnapshot = false
        return .deliver(.snapshot(snapshot))
    }

    private mutating func event(
        _ block: StreamBlock, _ position: StreamPosition, _ demand: Demand
    ) -> Reading {
        guard isNew(position) else { return .nothing }
        let content: EventContent
        do throws(EventContent.PatchFailure) {
            content = try self.content(of: block)
        } catch {
            return .malformed("a patch does not apply: \(error.reason)")
        }
        let isContinued = seen != nil
        seen = position
        let event = StreamEvent(
            name: block.isState ? "state" : block.name, position: position, content: content,
            cause: block.cause)
        guard block.isState else {
            if demand.states { continueState(to: position, isContinued) }
            return .deliver(.event(event))
        }
        patchBase = content
        let isCovered = !isStale && confirmed.map { $0.reaches(position) } ?? false
        if demand.states, !isCovered { (confirmed, isStale) = (position, false) }
        return .deliver(.state(event, isConfirmed: !isCovered))
    }

    /// After a patch that does not apply, the next connection asks for no patches, so that the same
    /// version comes as a state (C8).
    private mutating func content(
        of block: StreamBlock
    ) throws(EventContent.PatchFailure) -> EventContent {
        guard block.isPatch else { return .text(block.data) }
        guard let base = patchBase.take() else {
            throw EventContent.PatchFailure(reason: "the state before is not known")
        }
        return try base.patched(by: block.data)
    }

    private mutating func advance(_ position: StreamPosition, _ demand: Demand) -> Reading {
        guard isNew(position) else { return .nothing }
        let isContinued = seen != nil
        seen = position
        if demand.states { continueState(to: position, isContinued) }
        return .nothing
    }

    /// The state is the one at this position, too, unless events before it are missing: a stream
    /// that begins here says nothing of them, and the state may be one of an earlier life.
    private mutating func continueState(to position: StreamPosition, _ isContinued: Bool) {
        guard let confirmed, !confirmed.reaches(position) else { return }
        if isContinued, !isStale { self.confirmed = position } else { isStale = true }
    }

    /// R7: drops events at or before the position that is seen, and those of another life.
    private func isNew(_ position: StreamPosition) -> Bool {
        guard !awaitsSnapshot else { return false }
        guard let seen else { return true }
        return seen.generation == position.generation && !seen.reaches(position)
    }
}
