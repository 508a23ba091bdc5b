internal import Storage
internal import Wire

// Streams: opening them, and what they show first.
extension Session {
    /// Opens a stream. The answer brings the opening bytes and the subscriber.
    package func subscribe(_ request: SubscriptionRequest) {
        guard isRunning else { return answer(content(absence), request.token) }
        noteUse()
        if request.selection.log { keepNotes() }
        guard let newestStep = uncommitted.last else {
            return openNow(request)
        }
        let snapshot =
            request.selection.hasSnapshot
            ? snapshotData(request.selection, at: history.newest.version) : nil
        var request = request
        request.notes = history.newest.notes
        table.attach(
            .subscription(request, number: history.newest.number, snapshot: snapshot),
            to: newestStep)
    }

    /// Opens a stream at what is committed.
    func openNow(_ request: SubscriptionRequest) {
        var request = request
        request.notes = history.committed.notes
        open(request, at: history.committed.number, snapshot: nil)
    }

    /// Precondition: `number` is committed, and `snapshot` is of that moment; without one `number`
    /// is the newest that is committed.
    func open(_ request: SubscriptionRequest, at number: UInt64, snapshot: [UInt8]?) {
        guard hasRoom(for: request.selection) else {
            let limit = table.limits.selections
            return table.output.reply(content(.tooManySelections(limit: limit)), to: request.token)
        }
        var opening = StreamOpening(isChunked: request.selection.isChunked)
        let present = present(request, number)
        var after = present
        var wantsSnapshot = false
        switch request.start {
        case .now: break
        case .snapshot: wantsSnapshot = true
        case .start: after = Position(generation, startPosition(for: request.selection))
        case .after(let text):
            switch resumption(text, request.selection) {
            case .success(let position): after = position
            case .failure(let reason):
                wantsSnapshot = true
                opening.block = EventFramer.resetBlock(reason, present)
            }
        }
        if persistence != nil, after.inHistory < keptPosition(for: request.selection) {
            return openReplaying(request, after: after)
        }
        guard let stream = stream(request.selection, covering: after) else {
            return persistence == nil ? openAnew(request) : openReplaying(request, after: after)
        }
        let subscriber = Subscriber(
            id: request.token, session: self, stream: stream,
            at: stream.offset(after: after.inHistory))
        finish(request, subscriber, opening, wantsSnapshot, at: after, snapshot)
    }

    /// The history was there and is too large to show: the same as trimmed. It begins at the
    /// newest that is committed, which may be later than the moment it was asked for.
    private func openAnew(_ request: SubscriptionRequest) {
        var opening = StreamOpening(isChunked: request.selection.isChunked)
        let position = Position(generation, committedPosition(for: request.selection))
        opening.block = EventFramer.resetBlock(.trimmed, position)
        guard let stream = stream(request.selection, covering: position) else {
            preconditionFailure("a stream always covers the present")
        }
        let subscriber = Subscriber(
            id: request.token, session: self, stream: stream,
            at: stream.offset(after: position.inHistory))
        finish(request, subscriber, opening, true, at: position, nil)
    }

    /// The journal has what memory has not.
    private func openReplaying(_ request: SubscriptionRequest, after position: Position) {
        let present = Position(generation, committedPosition(for: request.selection))
        guard let stream = stream(request.selection, covering: present) else {
            preconditionFailure("a stream always covers the present")
        }
        let subscriber = Subscriber(
            id: request.token, session: self, stream: stream, at: stream.end)
        subscriber.catchUp(
            after: position.inHistory, of: self, isFromStart: request.start.isStart)
        let opening = StreamOpening(isChunked: request.selection.isChunked)
        finish(request, subscriber, opening, false, at: position, nil)
    }

    private func finish(
        _ request: SubscriptionRequest, _ subscriber: Subscriber, _ opening: StreamOpening,
        _ wantsSnapshot: Bool, at after: Position, _ snapshot: [UInt8]?
    ) {
        var opening = opening
        let stream = subscriber.stream
        if wantsSnapshot, request.selection.hasSnapshot {
            opening.snapshot = stream.snapshotBlock(at: after.number) {
                snapshotBlock(
                    snapshot ?? snapshotData(request.selection, at: history.committed.version),
                    at: after,
                    isChunked: request.selection.isChunked)
            }
        } else if opening.block.isEmpty,
            request.start.needsID
                || (request.start.needsIDIfEmpty && subscriber.hasAll)
        {
            opening.block = EventFramer.idBlock(after)
        }
        stream.add(subscriber)
        table.output.reply(content(.subscribed(subscriber, opening)), to: request.token)
        subscriber.advance()
    }

    /// The oldest that may be kept for a stream of this selection, in memory or in the journal.
    private func startPosition(for selection: Selection) -> HistoryPosition {
        let place = keptPosition(for: selection)
        return persistence.map { min(place, HistoryPosition($0.keptAfter)) } ?? place
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

    /// Where a stream begins that was asked for when `number` was the newest record.
    private func present(_ request: SubscriptionRequest, _ number: UInt64) -> Position {
        guard request.selection.log, request.notes > 0 else { return Position(generation, number) }
        return Position(generation, number + 1, part: request.notes)
    }

    /// The stream of this selection, made if need be, covering everything after `position`.
    private func stream(_ selection: Selection, covering position: Position) -> SharedStream? {
        let place = selection.log ? position.inHistory : position.inHistory.recordBefore
        let limit = streamLimitBytes
        if let stream = streams.first(where: { $0.selection == selection }) {
            // A record that is committed in this moment is one that the new reader has seen.
            frame(stream)
            return stream.extend(backTo: place, of: self, limit: limit) ? stream : nil
        }
        let stream = SharedStream(
            selection, after: committedPosition(for: selection), tally: table.subscribers)
        stream.showsPart(of: selection.readsStates ? state(at: history.committed.number) : [])
        guard stream.extend(backTo: place, of: self, limit: limit) else { return nil }
        streams = streams + [stream]
        if selection.readsStates { stateStreams += 1 }
        return stream
    }

    /// Makes a stream cover everything after `place`, if it may keep as much.
    func extend(_ stream: SharedStream, backTo place: HistoryPosition) -> Bool {
        stream.extend(backTo: place, of: self, limit: streamLimitBytes)
    }

    /// Whether somebody reads this selection, or one more may be read.
    private func hasRoom(for selection: Selection) -> Bool {
        streams.count < table.limits.selections
            || streams.contains { $0.selection == selection }
    }

    /// Bytes that each stream may keep: what one may keep alone, and 16 times that together.
    var streamLimitBytes: Int {
        let limit = table.limits.retention.bytes
        return streams.count > Self.fullStreams ? limit / streams.count * Self.fullStreams : limit
    }

    /// How many streams may each keep as much as a single one may.
    static let fullStreams = 16

    func removeStream(_ stream: SharedStream) {
        let rest = streams.filter { $0 !== stream }
        guard rest.count < streams.count else { return }
        streams = rest
        if stream.selection.readsStates { stateStreams -= 1 }
        if isAsleep, streams.isEmpty { table.forget(self) }
    }

    /// Makes the opening of a stream for a subscriber that was left behind.
    func reset(_ subscriber: Subscriber) -> StreamOpening {
        let stream = subscriber.stream
        var opening = StreamOpening(isChunked: subscriber.isChunked)
        let position = Position(generation, stream.framedThrough)
        opening.block = EventFramer.resetBlock(.trimmed, position)
        guard stream.selection.hasSnapshot else { return opening }
        opening.snapshot = stream.snapshotBlock(at: position.number) {
            snapshotBlock(
                snapshotData(stream.selection, at: history.committed.version), at: position,
                isChunked: subscriber.isChunked)
        }
        return opening
    }

    private func snapshotBlock(
        _ data: [UInt8], at position: Position, isChunked: Bool
    ) -> [UInt8] {
        var block: [UInt8] = []
        block.reserveCapacity(data.count + 64)
        EventFramer.append(EventFramer.snapshot, position, data[...], isChunked: false, to: &block)
        if isChunked { ChunkEncoder.appendEnd(to: &block) }
        return block
    }

    /// The data of a snapshot of this selection at this version.
    private func snapshotData(_ selection: Selection, at version: UInt64) -> [UInt8] {
        defer { endReplay() }
        var pulses: [UInt8] = []
        if selection.pulses != 0 {
            machine?.encodePulses(selection.pulses, at: version, in: self, to: &pulses)
        }
        guard selection.readsStates else { return pulses }
        var state = StateReader(session: self).shown(at: version)
        if case .part(let pointer) = selection.states {
            state = StatePart.slice(pointer, of: state) ?? EventFramer.null
        }
        guard selection.pulses != 0 else { return state }
        return Array("{\"pulses\":".utf8) + pulses + Array(",\"state\":".utf8) + state
            + Array("}".utf8)
    }

    /// The state as it was shown at this record.
    func state(at number: UInt64) -> [UInt8] {
        StateReader(session: self).shown(at: history.version(at: number) ?? history.keptVersion)
    }

    /// Whether there is a state in memory.
    var isAwake: Bool { machine != nil }

    /// No more old states are asked for just now.
    func endReplay() {
        machine?.endReplay()
    }

    func prefix(of source: EventSource) -> [UInt8] {
        switch source {
        case .pulse(let index): registration.pulsePrefixes[index]
        case .activity(let index): activityPrefix(index)
        case .state: EventFramer.state
        case .content: preconditionFailure("only the action log shows it")
        }
    }
}
