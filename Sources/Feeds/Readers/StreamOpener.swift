internal import Storage
internal import Wire

/// Opens streams of a feed, and builds their opening bytes.
package struct StreamOpener {
    package let feed: Feed
    private let source: any FeedSource

    private var history: History { feed.history }
    private var loop: FeedLoop { feed.loop }

    /// Nil if there is no state in memory; a stream may have to begin with one.
    package init?(_ feed: Feed) {
        guard let source = feed.source else { return nil }
        self.feed = feed
        self.source = source
    }

    /// Opens a stream at the committed position.
    package func openNow(_ request: SubscriptionRequest) {
        var request = request
        request.notes = history.committed.notes
        open(request, at: history.committed.number, snapshot: nil)
    }

    /// The snapshot of the newest decided version, for a stream that begins when it is committed;
    /// nil if the stream has none.
    package func snapshotAhead(for request: SubscriptionRequest) throws(WorkOverload)
        -> ChargedBytes?
    {
        guard request.selection.hasSnapshot else { return nil }
        return try snapshotData(
            request.selection, at: history.newest.version,
            for: loop.output.client(of: request.token))
    }

    /// - Precondition: record `number` is committed, and `snapshot` is of that record. If
    ///   `snapshot` is nil, the record is the newest committed one.
    package func open(_ request: SubscriptionRequest, at number: UInt64, snapshot: ChargedBytes?) {
        if let refusal = refusal(of: request.selection) {
            return answer(refusal, to: request.token)
        }
        var opening = StreamOpening(isChunked: request.selection.isChunked)
        let present = present(request, number)
        var after = present
        var wantsSnapshot = false
        switch request.start {
        case .now: break
        case .snapshot: wantsSnapshot = true
        case .start: after = Position(feed.generation, startPosition(for: request.selection))
        case .after(let text):
            switch feed.resumption(text, request.selection) {
            case .success(let position): after = position
            case .failure(let reason)
            where reason.mayBeOther && loop.journal.isShared && source.isDeciding
                && !request.isConfirmed:
                loop.upstream?.confirm(request, of: feed)
                return
            case .failure(let reason):
                wantsSnapshot = true
                loop.subscribers.countReset(reason)
                opening.block = resetBlock(reason, request.selection, present)
            }
        }
        let isArchived = feed.archive != nil
        let isKept =
            !isArchived || after.inHistory >= feed.keptPosition(for: request.selection)
        guard isKept, let stream = stream(request.selection, covering: after) else {
            guard isArchived else { return openAnew(request) }
            // Memory has dropped the snapshot's record while the stream waited for its commit, and
            // a replay has no snapshot.
            if wantsSnapshot, number < history.committed.number { return openNow(request) }
            return openReplaying(request, after: after)
        }
        let subscriber = Subscriber(
            request, of: feed, stream: stream, after: after.inHistory)
        finish(request, subscriber, opening, wantsSnapshot, at: after, snapshot)
    }

    /// The answer if the session may have no further subscriber of this selection.
    private func refusal(of selection: Selection) -> SubscriptionAnswer? {
        let limits = loop.limits
        guard feed.streams.subscriberCount < limits.subscribers else {
            return .tooManySubscribers(limit: limits.subscribers)
        }
        guard feed.streams.hasRoom(for: selection, limit: limits.selections) else {
            return .tooManySelections(limit: limits.selections)
        }
        return nil
    }

    /// Opens a stream as if the history had been trimmed, because the stream may not keep
    /// so much of it. The stream begins at the newest committed record, which may be later
    /// than the request.
    private func openAnew(_ request: SubscriptionRequest) {
        let (stream, position) = presentStream(request.selection)
        var opening = StreamOpening(isChunked: request.selection.isChunked)
        loop.subscribers.countReset(.trimmed)
        opening.block = resetBlock(.trimmed, request.selection, position)
        let subscriber = Subscriber(
            request, of: feed, stream: stream, after: position.inHistory)
        finish(request, subscriber, opening, true, at: position, nil)
    }

    /// Opens a stream that begins with records that only the journal has.
    private func openReplaying(_ request: SubscriptionRequest, after position: Position) {
        let (stream, _) = presentStream(request.selection)
        let subscriber = Subscriber(
            request, of: feed, stream: stream, after: stream.framedThrough)
        subscriber.catchUp(
            after: position.inHistory, of: feed, isFromStart: request.start.isStart)
        let opening = StreamOpening(isChunked: request.selection.isChunked)
        finish(request, subscriber, opening, false, at: position, nil)
    }

    func presentStream(_ selection: Selection) -> (SharedStream, Position) {
        let present = Position(feed.generation, feed.committedPosition(for: selection))
        guard let stream = stream(selection, covering: present) else {
            preconditionFailure("a stream always covers the present")
        }
        return (stream, present)
    }

    private func finish(
        _ request: SubscriptionRequest, _ subscriber: Subscriber, _ opening: StreamOpening,
        _ wantsSnapshot: Bool, at after: Position, _ snapshot: ChargedBytes?
    ) {
        var opening = opening
        let stream = subscriber.stream
        if wantsSnapshot, request.selection.hasSnapshot {
            do throws(WorkOverload) {
                let client = loop.output.client(of: request.token)
                opening.held = try stream.snapshotBlock(at: after.number, for: client) {
                    () throws(WorkOverload) in
                    let (selection, version) = (request.selection, history.committed.version)
                    let data =
                        if let snapshot {
                            snapshot
                        } else {
                            try snapshotData(selection, at: version, for: client)
                        }
                    return data.framed(after: EventFramer.snapshotHead(after))
                }
            } catch {
                if stream.isUnused { feed.removeStream(stream) }
                return answer(.overBudget, to: request.token)
            }
        } else if opening.block.isEmpty,
            request.start.needsID
                || (request.start.needsIDIfEmpty && (subscriber.hasAll || subscriber.isAhead))
        {
            opening.block = EventFramer.idBlock(after)
        }
        stream.add(subscriber)
        feed.presence?.joined(subscriber)
        loop.replicas.examine(stream, of: feed)
        answer(.subscribed(subscriber, opening), to: request.token)
        subscriber.advance()
        feed.account(stream)
    }

    private func answer(_ answer: SubscriptionAnswer, to token: UInt64) {
        loop.upstream?.answer(answer, to: token, of: feed)
    }

    /// The oldest position after which memory or the journal may have everything for
    /// this selection.
    private func startPosition(for selection: Selection) -> HistoryPosition {
        let kept = feed.keptPosition(for: selection)
        return feed.archive.map { min(kept, HistoryPosition($0.keptAfter)) } ?? kept
    }

    /// The present position for a request that was received when `number` was the newest record.
    private func present(_ request: SubscriptionRequest, _ number: UInt64) -> Position {
        let generation = feed.generation
        guard request.selection.log, request.notes > 0 else { return Position(generation, number) }
        return Position(generation, number + 1, part: request.notes)
    }

    /// The stream of this selection, created if there is none, covering everything after
    /// `position`; nil if it would exceed its limit.
    private func stream(_ selection: Selection, covering position: Position) -> SharedStream? {
        let start = selection.start(after: position.inHistory)
        if let stream = feed.streams.of(selection) {
            // The new subscriber already has the records that are committed and not framed yet.
            feed.frameForReader(stream)
            return feed.extend(stream, backTo: start) ? stream : nil
        }
        let stream = SharedStream(
            selection, after: feed.committedPosition(for: selection),
            tally: loop.subscribers)
        if feed.isElsewhere {
            if selection.readsStates {
                stream.showsPart(of: feed.shown(at: history.committed.number))
            }
        } else {
            stream.forgetPart()
        }
        guard feed.extend(stream, backTo: start) else { return nil }
        feed.streams = feed.streams.adding(stream)
        return stream
    }

    /// The opening for a subscriber that cannot continue at its position: it continues
    /// at the present.
    func reset(
        _ subscriber: Subscriber, _ reason: ResetReason, at present: HistoryPosition
    ) throws(WorkOverload) -> StreamOpening {
        let stream = subscriber.stream
        var opening = StreamOpening(isChunked: subscriber.isChunked)
        let position = Position(feed.generation, present)
        stream.tally.countReset(reason)
        opening.block = resetBlock(reason, stream.selection, position)
        guard stream.selection.hasSnapshot else { return opening }
        opening.held = try stream.snapshotBlock(at: position.number, for: subscriber.client) {
            () throws(WorkOverload) in
            try snapshotData(
                stream.selection, at: history.committed.version, for: subscriber.client
            ).framed(after: EventFramer.snapshotHead(position))
        }
        return opening
    }

    /// A `reset`, which has the position only on a stream without snapshots.
    private func resetBlock(
        _ reason: ResetReason, _ selection: Selection, _ position: Position
    ) -> [UInt8] {
        EventFramer.resetBlock(reason, selection.hasSnapshot ? nil : position)
    }

    // MARK: Snapshots

    /// The data of a snapshot of this selection at this version.
    ///
    private func snapshotData(
        _ selection: Selection, at version: UInt64, for client: @autoclosure () -> WorkClient?
    ) throws(WorkOverload) -> ChargedBytes {
        let charge = try loop.charge(
            selection.readsStates ? source.stateEstimate : 0, for: client())
        var data = snapshotData(selection, at: version)
        LineSeparators.escape(from: 0, in: &data)
        return ChargedBytes(
            data, try loop.adjust(charge, to: data.count, for: client()))
    }

    private func snapshotData(_ selection: Selection, at version: UInt64) -> [UInt8] {
        defer { feed.endReplay() }
        var pulses: [UInt8] = []
        if selection.wantsPulses {
            source.appendPulses(selection.pulses, at: version, to: &pulses)
        }
        guard selection.readsStates else { return pulses }
        let shown = source.shown(at: version)
        var state = shown.bytes
        if let pointer = selection.pointer { state = shown.part(pointer) ?? EventFramer.null[...] }
        // The whole state is shared with others that show it.
        guard selection.wantsPulses else { return Array(state) }
        var data = Array("{\"pulses\":".utf8)
        data.reserveCapacity(pulses.count + state.count + 32)
        data += pulses
        data += Array(",\"state\":".utf8)
        data += state
        data.append(UInt8(ascii: "}"))
        return data
    }
}
