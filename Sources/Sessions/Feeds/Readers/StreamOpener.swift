internal import Storage
internal import Wire

/// Opens streams of a session, and builds their opening bytes.
struct StreamOpener {
    let session: Session

    private var history: History { session.history }

    /// Opens a stream when the steps that are decided so far are committed.
    func subscribe(_ request: SubscriptionRequest) {
        guard let newestStep = session.uncommitted.last else { return openNow(request) }
        let snapshot: ChargedBytes?
        do throws(WorkOverload) {
            snapshot =
                request.selection.hasSnapshot
                ? try snapshotData(
                    request.selection, at: history.newest.version, for: request.token)
                : nil
        } catch {
            return refuse(request)
        }
        var request = request
        request.notes = history.newest.notes
        session.table.commits.attach(
            .subscription(request, number: history.newest.number, snapshot: snapshot),
            to: newestStep)
    }

    /// Opens a stream at the committed position.
    func openNow(_ request: SubscriptionRequest) {
        var request = request
        request.notes = history.committed.notes
        open(request, at: history.committed.number, snapshot: nil)
    }

    /// - Precondition: record `number` is committed, and `snapshot` is of that record. If `snapshot` is
    ///   nil, the record is the newest committed one.
    func open(_ request: SubscriptionRequest, at number: UInt64, snapshot: ChargedBytes?) {
        if let refusal = refusal(of: request.selection) {
            return session.table.output.reply(session.content(refusal), to: request.token)
        }
        var opening = StreamOpening(isChunked: request.selection.isChunked)
        let present = present(request, number)
        var after = present
        var wantsSnapshot = false
        switch request.start {
        case .now: break
        case .snapshot: wantsSnapshot = true
        case .start: after = Position(session.generation, startPosition(for: request.selection))
        case .after(let text):
            switch session.resumption(text, request.selection) {
            case .success(let position): after = position
            case .failure(let reason)
            where reason.mayBeOther && session.table.hasOwners && session.isRunning
                && !request.isConfirmed:
                return confirm(request)
            case .failure(let reason):
                wantsSnapshot = true
                session.table.subscribers.countReset(reason)
                opening.block = resetBlock(reason, request.selection, present)
            }
        }
        let isArchived = session.persistence != nil
        let isKept =
            !isArchived || after.inHistory >= session.keptPosition(for: request.selection)
        guard isKept, let stream = stream(request.selection, covering: after) else {
            guard isArchived else { return openAnew(request) }
            // Memory has dropped the snapshot's record while the stream waited for its commit, and a
            // replay has no snapshot.
            if wantsSnapshot, number < history.committed.number { return openNow(request) }
            return openReplaying(request, after: after)
        }
        let subscriber = Subscriber(
            id: request.token, session: session, stream: stream,
            at: stream.offset(after: after.inHistory))
        finish(request, subscriber, opening, wantsSnapshot, at: after, snapshot)
    }

    /// Another node may own the session by now, and have reached the position: the journal knows.
    private func confirm(_ request: SubscriptionRequest) {
        let (session, table) = (session, session.table)
        table.read(session.id, .confirmed) { found, _ in
            switch found {
            case .session(let present) where present === session:
                var request = request
                request.isConfirmed = true
                session.subscribe(request)
            case .unreadable(let failure):
                table.output.reply(session.content(.unreadable(failure)), to: request.token)
            default:
                table.findForStream(session.id) { openElsewhere(request, $0) }
            }
        }
    }

    /// Opens a stream of a session that this node does not own any more.
    private func openElsewhere(_ request: SubscriptionRequest, _ found: SessionLookup) {
        guard case .session(let present) = found, present.key == session.key else {
            // The client connects again.
            let content = session.content(.failed(.leftMemory))
            return session.table.output.reply(content, to: request.token)
        }
        present.subscribe(request)
    }

    /// The reply if the session may have no further subscriber of this selection.
    private func refusal(of selection: Selection) -> Reply.Kind? {
        let limits = session.table.limits
        guard session.streams.subscriberCount < limits.subscribers else {
            return .tooManySubscribers(limit: limits.subscribers)
        }
        guard session.streams.hasRoom(for: selection, limit: limits.selections) else {
            return .tooManySelections(limit: limits.selections)
        }
        return nil
    }

    /// Opens a stream as if the history had been trimmed, because the stream may not keep so much of it.
    /// The stream begins at the newest committed record, which may be later than the request.
    private func openAnew(_ request: SubscriptionRequest) {
        let (stream, position) = presentStream(request.selection)
        var opening = StreamOpening(isChunked: request.selection.isChunked)
        session.table.subscribers.countReset(.trimmed)
        opening.block = resetBlock(.trimmed, request.selection, position)
        let subscriber = Subscriber(
            id: request.token, session: session, stream: stream,
            at: stream.offset(after: position.inHistory))
        finish(request, subscriber, opening, true, at: position, nil)
    }

    /// Opens a stream that begins with records that only the journal has.
    private func openReplaying(_ request: SubscriptionRequest, after position: Position) {
        let (stream, _) = presentStream(request.selection)
        let subscriber = Subscriber(
            id: request.token, session: session, stream: stream, at: stream.end)
        subscriber.catchUp(
            after: position.inHistory, of: session, isFromStart: request.start.isStart)
        let opening = StreamOpening(isChunked: request.selection.isChunked)
        finish(request, subscriber, opening, false, at: position, nil)
    }

    func presentStream(_ selection: Selection) -> (SharedStream, Position) {
        let present = Position(session.generation, session.committedPosition(for: selection))
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
                opening.held = try stream.snapshotBlock(at: after.number) {
                    () throws(WorkOverload) in
                    let (selection, version) = (request.selection, history.committed.version)
                    let data =
                        if let snapshot {
                            snapshot
                        } else {
                            try snapshotData(selection, at: version, for: request.token)
                        }
                    return data.framed(after: EventFramer.snapshotHead(after))
                }
            } catch {
                if stream.isUnused { session.removeStream(stream) }
                return refuse(request)
            }
        } else if opening.block.isEmpty,
            request.start.needsID
                || (request.start.needsIDIfEmpty && subscriber.hasAll)
        {
            opening.block = EventFramer.idBlock(after)
        }
        stream.add(subscriber)
        session.table.branches.examine(stream, of: session)
        session.table.output.reply(
            session.content(.subscribed(subscriber, opening)), to: request.token)
        subscriber.advance()
        session.account(stream)
    }

    private func refuse(_ request: SubscriptionRequest) {
        session.table.output.reply(session.content(.overBudget), to: request.token)
    }

    /// The oldest position after which memory or the journal may have everything for this selection.
    private func startPosition(for selection: Selection) -> HistoryPosition {
        let kept = session.keptPosition(for: selection)
        return session.persistence.map { min(kept, HistoryPosition($0.keptAfter)) } ?? kept
    }

    /// The present position for a request that was received when `number` was the newest record.
    private func present(_ request: SubscriptionRequest, _ number: UInt64) -> Position {
        let generation = session.generation
        guard request.selection.log, request.notes > 0 else { return Position(generation, number) }
        return Position(generation, number + 1, part: request.notes)
    }

    /// The stream of this selection, created if there is none, covering everything after `position`; nil
    /// if it would exceed its limit.
    private func stream(_ selection: Selection, covering position: Position) -> SharedStream? {
        let start = selection.start(after: position.inHistory)
        if let stream = session.streams.of(selection) {
            // The new subscriber already has the records that are committed and not framed yet.
            session.frame(stream)
            return session.extend(stream, backTo: start) ? stream : nil
        }
        let stream = SharedStream(
            selection, after: session.committedPosition(for: selection),
            tally: session.table.subscribers)
        if session.isFollowed {
            if selection.readsStates {
                stream.showsPart(of: session.shown(at: history.committed.number))
            }
        } else {
            stream.forgetPart()
        }
        guard session.extend(stream, backTo: start) else { return nil }
        session.streams = session.streams.adding(stream)
        return stream
    }

    /// The opening for a subscriber that cannot continue at its position: it continues at the present.
    func reset(
        _ subscriber: Subscriber, _ reason: ResetReason
    ) throws(WorkOverload) -> StreamOpening {
        let stream = subscriber.stream
        var opening = StreamOpening(isChunked: subscriber.isChunked)
        let position = Position(session.generation, stream.framedThrough)
        stream.tally.countReset(reason)
        opening.block = resetBlock(reason, stream.selection, position)
        guard stream.selection.hasSnapshot else { return opening }
        opening.held = try stream.snapshotBlock(at: position.number) { () throws(WorkOverload) in
            try snapshotData(
                stream.selection, at: history.committed.version, for: subscriber.id
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
    /// - Parameter token: of the subscriber's connection.
    private func snapshotData(
        _ selection: Selection, at version: UInt64, for token: UInt64
    ) throws(WorkOverload) -> ChargedBytes {
        let table = session.table
        let charge = try table.charge(
            selection.readsStates ? session.stateEstimate : 0, for: token)
        var data = snapshotData(selection, at: version)
        LineSeparators.escape(from: 0, in: &data)
        return ChargedBytes(
            data, try table.adjust(charge, to: data.count, for: table.output.client(of: token)))
    }

    private func snapshotData(_ selection: Selection, at version: UInt64) -> [UInt8] {
        defer { session.endReplay() }
        var pulses: [UInt8] = []
        if selection.wantsPulses {
            session.machine?.encodePulses(selection.pulses, at: version, in: session, to: &pulses)
        }
        guard selection.readsStates else { return pulses }
        let shown = StateReader(session: session).shown(at: version)
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
