internal import Storage

/// The streams of a session: one for each selection that somebody reads.
///
/// Invariant: no two are of one selection.
///
/// Why a changed copy is made instead of a change in place: a property that is changed by a call which the
/// compiler does not see through is checked for overlapping access wherever it is read (ADR-0013).
struct SessionStreams {
    private(set) var all: [SharedStream] = []
    /// Invariant: whether any of them shows states. While one does, each mutation's state is encoded at
    /// once.
    private(set) var showStates = false

    /// How many streams may each keep as much as a single one may.
    private static let fullCount = 16

    var isEmpty: Bool { all.isEmpty }

    /// Every subscriber has everything, and nothing is on its way.
    var isAtRest: Bool { all.allSatisfy(\.isAtRest) }

    /// Each may keep less than a single one may.
    var areMany: Bool { all.count > Self.fullCount }

    func of(_ selection: Selection) -> SharedStream? { all.first { $0.selection == selection } }

    /// Whether this selection is read, or one more may be.
    func hasRoom(for selection: Selection, limit: Int) -> Bool {
        all.count < limit || of(selection) != nil
    }

    /// Bytes that each stream may keep: what one may keep alone, and 16 times that together.
    func limitBytes(_ retention: Retention) -> Int {
        let limit = retention.bytes
        return areMany ? limit / all.count * Self.fullCount : limit
    }

    func adding(_ stream: SharedStream) -> SessionStreams { SessionStreams(all + [stream]) }

    func removing(_ stream: SharedStream) -> SessionStreams {
        SessionStreams(all.filter { $0 !== stream })
    }

    private init(_ streams: [SharedStream]) {
        all = streams
        showStates = streams.contains { $0.selection.readsStates }
    }

    init() {}
}

// Design: events are framed for each stream when they are committed, and kept no longer than the history.
extension Session {
    @usableFromInline
    var wantsStates: Bool { streams.showStates }

    /// Opens a stream. The answer brings the opening bytes and the subscriber.
    package func subscribe(_ request: SubscriptionRequest) {
        guard isRunning else { return answer(content(absence), request.token) }
        table.eviction.recordUse(of: self)
        if request.selection.log { keepNotes() }
        StreamOpener(session: self).subscribe(request)
    }

    /// Frames committed events for every stream, writes them to subscribers that accept bytes, and
    /// drops history beyond the limits.
    func publish() {
        for stream in streams.all {
            frame(stream)
            stream.flush(to: table.output)
        }
        if streams.showStates { endReplay() }
        let retention = table.limits.retention
        guard history.exceeds(retention) || streams.areMany else { return }
        history.trim(to: retention)
        // A quarter beyond the limit, so that what is forgotten is so in batches.
        let isHeavy = history.droppedWeight > max(65_536, retention.bytes / 4)
        if machine?.forget(before: history.keptVersion, atOnce: isHeavy) ?? false {
            history.forgetDroppedWeight()
        }
        let limit = streams.limitBytes(retention)
        for stream in streams.all {
            stream.trim(keptAfter: keptPosition(for: stream.selection), limit: limit)
        }
    }

    func frame(_ stream: SharedStream) {
        let end = committedPosition(for: stream.selection)
        guard stream.framedThrough < end else { return }
        stream.frame(through: end, of: self, scratch: &table.buffers.scratch)
    }

    /// Makes a stream cover everything after `position`, if it may keep as much.
    func extend(_ stream: SharedStream, backTo position: HistoryPosition) -> Bool {
        stream.extend(
            backTo: position, of: self, limit: streams.limitBytes(table.limits.retention))
    }

    func removeStream(_ stream: SharedStream) {
        let rest = streams.removing(stream)
        guard rest.all.count < streams.all.count else { return }
        streams = rest
        if isAsleep, streams.isEmpty { table.forget(self) }
    }

    // MARK: Positions

    /// Everything up to here may be seen by a stream of this selection.
    func committedPosition(for selection: Selection) -> HistoryPosition {
        history.committedPosition(notes: selection.log)
    }

    /// Everything after here is kept for a stream of this selection.
    func keptPosition(for selection: Selection) -> HistoryPosition {
        history.keptPosition(notes: selection.log)
    }

    /// The position after which a client continues, or why it can't.
    func resumption(
        _ text: String, _ selection: Selection
    ) -> Result<Position, ResetReason> {
        guard let position = Position(text) else { return .failure(.malformed) }
        guard position.generation == generation else { return .failure(.generation) }
        guard position.inHistory <= committedPosition(for: selection) else {
            return .failure(.ahead)
        }
        // Whether the journal has it is known when it is read.
        guard position.inHistory >= keptPosition(for: selection) || persistence != nil else {
            return .failure(.trimmed)
        }
        return .success(position)
    }

    // MARK: For framing

    /// The state as it was shown at this record.
    func state(at number: UInt64) -> [UInt8] {
        StateReader(session: self).shown(at: history.version(at: number) ?? history.keptVersion)
    }

    /// No more old states are asked for just now.
    func endReplay() { machine?.endReplay() }

    func prefix(of source: EventSource) -> [UInt8] {
        switch source {
        case .pulse(let index): registration.pulsePrefixes[index]
        case .activity(let index): activities.prefix(at: index, in: registration)
        case .state: EventFramer.state
        case .content: preconditionFailure("only the action log shows it")
        }
    }
}
