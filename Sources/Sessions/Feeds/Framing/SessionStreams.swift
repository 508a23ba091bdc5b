internal import JSONCoding
internal import Storage

/// The streams of a session: one for each selection that has subscribers.
///
/// Invariant: no two streams have the same selection.
///
/// Why methods return a changed copy: if a property is changed in place by a call that is not
/// inlined, each of its reads is checked for overlapping access at run time (ADR-0013).
struct SessionStreams {
    private(set) var all: [SharedStream] = []
    /// Invariant: whether any of the streams shows states. If so, the state after each mutation is
    /// encoded at once, up to a limit.
    private(set) var showStates = false

    /// Up to this number of streams, each may keep as many bytes as a single one.
    private static let fullCount = 16

    var isEmpty: Bool { all.isEmpty }

    /// Whether every subscriber has got everything and no read of the journal is under way.
    var isAtRest: Bool { all.allSatisfy(\.isAtRest) }

    /// Whether each stream may keep fewer bytes than a single one.
    var areMany: Bool { all.count > Self.fullCount }

    func of(_ selection: Selection) -> SharedStream? { all.first { $0.selection == selection } }

    /// The subscribers of all streams, on all loops.
    var subscriberCount: Int { all.reduce(0) { $0 + $1.readerCount } }

    /// Whether the selection has a stream, or one more stream is permitted.
    func hasRoom(for selection: Selection, limit: Int) -> Bool {
        all.count < limit || of(selection) != nil
    }

    /// The bytes that each stream may keep. All of them together may keep 16 times as many as a single
    /// one.
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

extension Selection {
    /// The position after which a stream has to have everything for a reader at `position`.
    func start(after position: HistoryPosition) -> HistoryPosition {
        log ? position : position.recordBefore
    }
}

// Design: events are framed for each stream when they are committed, and trimmed with the history.
extension Session {
    @usableFromInline
    var wantsStates: Bool {
        streams.showStates && stateBytesAhead <= SharedStream.surplusBytes
            && meters.state.size <= StateFraming.aheadBytes
    }

    /// Opens a stream. The answer has the subscriber and the opening bytes.
    package func subscribe(_ request: SubscriptionRequest) {
        guard isRunning || isFollowed && isReadable else {
            return answer(content(absence), request.token)
        }
        if isRunning { table.eviction.recordUse(of: self) }
        if request.selection.log { keepNotes() }
        // The part of a large state has to be looked for.
        guard request.selection.pointer != nil, stateEstimate > WorkBudget.smallestBytes,
            table.openings.hasRoom
        else {
            return StreamOpener(session: self).subscribe(request)
        }
        table.openings.append(request, of: self)
    }

    /// Frames committed events for every stream, writes them to subscribers that accept bytes, in this
    /// pass or in one of the next, and drops history beyond the limits.
    ///
    /// - Parameter isContinued: as for ``StateFraming/frame(isContinued:)``.
    func publish(isContinued: Bool = false) {
        forgetAhead()
        for stream in streams.all where !stream.selection.readsStates {
            frame(stream)
            table.deliveries.deliver(stream, table.limits.deliveries, to: table.output)
        }
        if streams.showStates { StateFraming(session: self).frame(isContinued: isContinued) }
        let retention = table.limits.retention
        guard history.exceeds(retention) || streams.areMany else { return }
        history.trim(to: retention)
        if streams.showStates { StateFraming(session: self).leaveTrimmed() }
        // A quarter of the limit, so that versions are forgotten in batches.
        let isHeavy = history.droppedWeight > max(65_536, retention.bytes / 4)
        if machine?.forget(before: history.keptVersion, atOnce: isHeavy) ?? false {
            history.forgetDroppedWeight()
        }
        let limit = streams.limitBytes(retention)
        for stream in streams.all {
            stream.trim(keptAfter: keptPosition(for: stream.selection), limit: limit)
        }
    }

    /// Frames everything that is committed.
    func frame(_ stream: SharedStream) {
        guard !stream.selection.readsStates else {
            return StateFraming(session: self).frameAll(of: stream)
        }
        let end = committedPosition(for: stream.selection)
        guard stream.framedThrough < end else { return }
        let limit = streams.limitBytes(table.limits.retention)
        stream.frame(through: end, of: self, scratch: &table.buffers.scratch, limit: limit)
        while stream.framedThrough < end {
            // Subscribers that have not got the oldest events fall behind.
            table.deliveries.deliver(stream, table.limits.deliveries, to: table.output)
            stream.trim(keptAfter: stream.coveredAfter, limit: limit)
            stream.frame(through: end, of: self, scratch: &table.buffers.scratch, limit: limit)
        }
        table.buffers.shrinkScratch()
    }

    /// Extends a stream back to `position`.
    ///
    /// - Returns: false if the stream would exceed its limit.
    func extend(_ stream: SharedStream, backTo position: HistoryPosition) -> Bool {
        stream.extend(
            backTo: position, of: self, limit: streams.limitBytes(table.limits.retention))
    }

    /// Extends a stream back to the position of a reader, if memory has everything after it.
    func extend(_ stream: SharedStream, forReader position: HistoryPosition) {
        guard isReadable, position >= keptPosition(for: stream.selection) else { return }
        _ = extend(stream, backTo: stream.selection.start(after: position))
    }

    /// Counts what a stream keeps of states, after it was extended for a reader and that has
    /// written what its connection accepts. A followed session has another limit
    /// (``FollowedState``).
    func account(_ stream: SharedStream) {
        if stream.selection.readsStates, !isFollowed { stream.account() }
    }

    func removeStream(_ stream: SharedStream) {
        let rest = streams.removing(stream)
        guard rest.all.count < streams.all.count else { return }
        streams = rest
        stream.followed = nil
        // While subscribers are being added to a followed session, others of them may have left.
        let isOpening = persistence?.following?.isOpening ?? false
        if isAsleep, streams.isEmpty, !isOpening { table.forget(self) }
    }

    // MARK: Positions

    /// The last position that a stream of this selection may show.
    func committedPosition(for selection: Selection) -> HistoryPosition {
        history.committedPosition(notes: selection.log)
    }

    /// The position after which memory has everything for a stream of this selection.
    func keptPosition(for selection: Selection) -> HistoryPosition {
        history.keptPosition(notes: selection.log)
    }

    /// The position after which a client continues, or why it cannot.
    func resumption(
        _ text: String, _ selection: Selection
    ) -> Result<Position, ResetReason> {
        guard let position = Position(text) else { return .failure(.malformed) }
        guard position.generation == generation else { return .failure(.generation) }
        guard position.inHistory <= committedPosition(for: selection) else {
            return .failure(.ahead)
        }
        // If the journal has an archive, the read shows whether it has the position.
        guard position.inHistory >= keptPosition(for: selection) || persistence != nil else {
            return .failure(.trimmed)
        }
        return .success(position)
    }

    // MARK: For framing

    /// The state as it was shown at this record.
    ///
    /// - Parameter events: those of the record, which may have the state.
    func shown(at number: UInt64, _ events: KeptEvents? = nil) -> ShownVersion {
        if let state = events?.state {
            return ShownVersion(state, table.pass) { [unowned self] in pointers() }
        }
        let version = history.version(at: number) ?? history.keptVersion
        return StateReader(session: self).shown(at: version)
    }

    /// Those of which streams show parts, or are about to.
    func pointers() -> [JSONPointer] {
        streams.all.compactMap(\.selection.pointer) + table.openings.pointers(of: self)
    }

    /// Ends a sequence of reads of earlier states.
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
