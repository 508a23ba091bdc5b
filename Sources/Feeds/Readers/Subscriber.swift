// Why one file: the states of a reader, and what each event does in them, change together.

internal import Storage

/// A reader of one stream: a position in its bytes.
///
/// Design: events are in the stream, which is bounded, or in the journal. A slow reader costs only
/// this object, and delays no other reader.
package final class Subscriber {
    enum State {
        /// All bytes of the stream before this offset are written or in `unsent`.
        case live(Int)
        /// The reader has everything up to this position, and the stream has not framed that yet.
        case ahead(of: HistoryPosition)
        /// The reader reads the journal, and then joins the stream.
        case catchingUp(CatchUp)
        /// The stream has dropped events that the reader has not got. The journal may have the
        /// events after this position; nil: they are lost.
        case behind(after: HistoryPosition?)
        /// On another loop than its session: that loop sends the events that the replica has
        /// dropped, one run after the other.
        case fetching
        /// The journal has lost history. The subscriber waits for the session's next generation.
        case stranded
        /// The session has another generation, and the subscriber needs a `reset`.
        case displaced
        /// The session has ended. The bytes of the stream from this offset are left to write.
        case draining(Int)
        /// The subscriber writes no more.
        case ended
    }

    /// The connection's token in the service.
    package let id: UInt64
    private(set) weak var feed: Feed?
    private unowned let output: any ReaderOutput
    package private(set) var stream: SharedStream
    private(set) var state: State
    /// Whether the connection did not accept all bytes: nothing is written until ``resume()``.
    package private(set) var isBlocked = false
    /// Bytes to write first: the rest of the opening, of a slice of the journal, or of the event
    /// that was partly written when the reader fell behind.
    private(set) var unsent = UnsentBytes()
    /// Nil as long as each read has found what comes next: most subscribers have none.
    private var missed: MissedReads?
    /// The index in `stream.subscribers`.
    var index = 0
    /// The index in the loop's ``SubscriberTally``.
    var tallyIndex = 0

    /// Whether it is in the loop's ``PendingDeliveries``.
    var isPending = false
    /// Nil for a reader without a name that gets no `presence` events.
    let presence: PresenceReader?
    private let way: Way

    private enum Way {
        /// The connection is on the loop of the session.
        case connection
        /// The connection is on another loop, and so is this subscriber. A cycle until it leaves.
        case replica(StreamReplica)
        /// The connection is on another loop, and this subscriber on that of the session: it sends
        /// whole runs.
        case remote(RemoteReader)
    }

    /// The reads of the journal that did not find what comes next, of a session that is followed.
    /// Others may read other records.
    var missedReads: MissedReads {
        let present = missed ?? MissedReads()
        missed = present
        return present
    }

    /// A read has found what comes next.
    func readSucceeded() { missed?.failures.end() }

    /// Whether the response's body is chunked.
    package var isChunked: Bool { stream.selection.isChunked }

    /// - Parameter position: that of the reader, which the stream covers.
    init(
        _ request: SubscriptionRequest, of feed: Feed, stream: SharedStream,
        after position: HistoryPosition
    ) {
        id = request.token
        self.feed = feed
        presence = feed.reader(request.presence)
        self.output = feed.loop.output
        self.stream = stream
        way = .connection
        state = stream.place(after: position)
    }

    /// A subscriber that has everything, on another loop than its session.
    init(
        id: UInt64, replica: StreamReplica, output: any ReaderOutput, _ part: ReaderPresence?
    ) {
        self.id = id
        presence = part.map { PresenceReader($0, replica.presence) }
        self.output = output
        way = .replica(replica)
        stream = replica.stream
        state = .live(stream.end)
    }

    /// A subscriber on the loop of its session, for readers on another one. ``advance()`` continues
    /// it.
    ///
    /// - Parameters:
    ///   - feed: nil: its session has ended.
    ///   - state: nil: it has everything.
    init(_ remote: RemoteReader, feed: Feed?, stream: SharedStream, _ state: State? = nil) {
        id = ReaderToken.remote
        presence = nil
        self.feed = feed
        output = remote
        way = .remote(remote)
        self.stream = stream
        self.state = state ?? .live(stream.end)
    }

    /// Nil for a reader whose connection is on this loop.
    var remote: RemoteReader? { if case .remote(let remote) = way { remote } else { nil } }
    var isRemote: Bool { id == ReaderToken.remote }

    /// The client whose share of the ``WorkBudget`` it uses.
    var client: WorkClient? { output.client(of: id) }

    /// Whether the reader has got all bytes of the stream.
    var hasAll: Bool { if case .live(stream.end) = state { true } else { false } }

    /// Whether all bytes are written.
    var isAtRest: Bool { hasAll && !isBlocked && unsent.isEmpty }

    var isLive: Bool { if case .live = state { true } else { false } }

    /// Whether ``advance()`` is to be called when the session's state is in memory, or when the
    /// journal has answered.
    var isWaiting: Bool {
        guard !isBlocked else { return false }
        return switch state {
        case .behind, .displaced: true
        case .live, .ahead, .catchingUp, .fetching, .stranded, .draining, .ended: false
        }
    }

    /// The position of a reader that has got everything so far; nil: a reset comes first.
    private var position: HistoryPosition? {
        switch state {
        case .live(let offset), .draining(let offset): stream.position(at: offset)
        case .ahead(let position): position
        case .catchingUp(let catchUp): catchUp.reached
        case .behind(let position): position
        case .fetching, .stranded, .displaced, .ended: nil
        }
    }

    var isAhead: Bool { if case .ahead = state { true } else { false } }

    /// Whether it reads the stream's bytes, now or when there are any after its position.
    var readsStream: Bool {
        switch state {
        case .live, .ahead: true
        case .catchingUp, .behind, .fetching, .stranded, .displaced, .draining, .ended: false
        }
    }

    /// Adds the subscriber to the numbers of its loop.
    func count(in readers: inout ReaderCounts) {
        readers.all += 1
        if isBlocked { readers.stalled += 1 }
        switch state {
        case .live(let offset), .draining(let offset):
            readers.lagBytes = max(readers.lagBytes, stream.end - offset + unsent.count)
        case .catchingUp, .fetching: readers.catchingUp += 1
        case .behind, .stranded, .displaced: readers.behind += 1
        case .ahead, .ended: break
        }
    }

    // MARK: The connection

    /// Adds bytes of the connection's own that it did not accept.
    package func hold(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        unsent.append(bytes)
        isBlocked = true
    }

    /// The connection sends other bytes first: nothing is written until ``resume()``.
    package func waitForRoom() {
        isBlocked = true
    }

    /// The connection accepts bytes again: writing resumes, at once or in a later iteration of the
    /// loop.
    package func resume() {
        guard case .catchingUp = state, let feed else { return unblock() }
        feed.loop.background.append { [self] in unblock() }
    }

    private func unblock() {
        if case .ended = state { return }
        isBlocked = false
        if sendUnsent() { advance() }
    }

    /// The connection is closed.
    package func cancel() {
        leave()
        if stream.isUnused { feed?.removeStream(stream) }
    }

    /// The reader continues on another loop, at the same offset.
    ///
    /// - Precondition: it is at rest.
    func moveAway() { leave(isMoving: true) }

    /// Closes the connection with a problem, because there is no room for the bytes of this reader.
    func refuse() {
        guard !hasEnded else { return }
        output.refuse(self)
    }

    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Closes the connection; the client reconnects with its last event id.
    func abandon() {
        cancel()
        output.finish(self)
    }

    // MARK: Events

    /// Writes the bytes that were added to the stream, if the reader is live. Others get
    /// them later.
    ///
    /// - Parameter newest: the stream's newest chunk.
    /// - Precondition: it is due (``isDue(_:)``).
    func deliver(_ newest: ChunkedBytes.Chunk, to output: any ReaderOutput) {
        guard case .live(let offset) = state, offset < newest.end else { return }
        guard offset >= newest.start else { return deliver() }
        let missing = newest.end - offset
        let accepted = output.write(
            newest.bytes.span.extracting(last: missing), to: id)
        state = .live(offset + accepted)
        isBlocked = accepted < missing
        if presence != nil { showPresence() }
    }

    /// Whether the reader is live, accepts bytes, and has not got all of them.
    func isDue(_ newest: ChunkedBytes.Chunk) -> Bool {
        guard !isBlocked, case .live(let offset) = state else { return false }
        return offset < newest.end
    }

    /// Writes what was put off to a later pass. Meanwhile another cause may have written it.
    func deliverPending() {
        isPending = false
        deliver()
    }

    /// For readers on another loop: the bytes are sent at the end of the round, or before the
    /// stream changes in another way.
    func deliverAtEndOfRound() {
        isPending = true
        remote?.change()
    }

    private func deliver() {
        guard !isBlocked, case .live(let offset) = state else { return }
        if offset < stream.end { state = .live(write(from: offset)) }
        if presence != nil { showPresence() }
    }

    /// Writes the `presence` event that the reader lacks, if it lacks no other events: otherwise it
    /// may be in the middle of one.
    func showPresence() {
        guard let presence, !isBlocked, unsent.isEmpty, hasAll || isAhead,
            let event = presence.takeEvent(isChunked: isChunked)
        else { return }
        _ = send(event)
    }

    /// Writes until the connection accepts no more bytes or all are written.
    func advance() {
        while !isBlocked {
            switch state {
            case .live: return deliver()
            case .catchingUp(let catchUp): return catchUp.proceed()
            case .behind(let position): guard resync(after: position) else { return }
            case .fetching: return replica?.accepted(self) ?? ()
            case .displaced: guard reset(.generation) else { return }
            case .draining(let offset):
                state = .draining(write(from: offset))
                if case .draining(let offset) = state, offset >= stream.end, !isBlocked { finish() }
                return
            case .ahead: return showPresence()
            case .stranded, .ended: return
            }
        }
    }

    /// The stream has framed more: it may have reached the reader's position.
    func streamAdvanced() {
        if case .ahead(let position) = state { state = stream.place(after: position) }
    }

    private func write(from offset: Int) -> Int {
        var offset = offset
        if let remote {
            while offset < stream.end, !isBlocked {
                isBlocked = !remote.send(from: &offset, of: stream)
            }
            return offset
        }
        stream.read(from: offset) { span in
            let accepted = output.write(span, to: id)
            offset += accepted
            isBlocked = accepted < span.count
            return !isBlocked
        }
        return offset
    }

    /// Starts to read the journal, because only the journal has the reader's next event.
    ///
    /// - Parameter isFromStart: the client requests all kept events, and has no event id.
    func catchUp(after position: HistoryPosition, of feed: Feed, isFromStart: Bool = false) {
        state = .catchingUp(
            CatchUp(self, of: feed, after: position, isFromStart: isFromStart))
    }

    /// Continues with the stream, which has all events after the position, or will get them.
    ///
    /// - Parameter opening: bytes to write first.
    func join(after position: HistoryPosition, _ opening: StreamOpening?) {
        state = stream.place(after: position)
        missed = nil
        if let opening, !send(opening) { return }
        advance()
    }

    /// The stream no longer has the next event.
    ///
    /// - Parameters:
    ///   - position: the reader's position when `rest` is written; nil: the journal does not have
    ///     the next event either.
    ///   - rest: the rest of an event that was partly written.
    func fallBehind(after position: HistoryPosition?, rest: [UInt8] = []) {
        state = .behind(after: position)
        guard rest.count > WorkBudget.smallestBytes else { return unsent.append(rest[...]) }
        // In the middle of an event nothing but its rest can be sent.
        guard let charge = stream.tally.work.charge(rest.count, for: client) else {
            return abandon()
        }
        unsent.append(rest[...], of: charge)
    }

    /// The session has ended, and the stream has its `end` event.
    func drain() {
        switch state {
        case .live(let offset): state = .draining(offset)
        case .catchingUp(let catchUp):
            catchUp.end()
            state = .behind(after: nil)
        // The stream has framed everything.
        case .ahead: state = .draining(stream.ending?.offset ?? stream.end)
        case .behind, .fetching, .stranded, .displaced, .draining, .ended: break
        }
        advance()
    }

    /// The session has ended elsewhere, and the stream has its `end` event.
    ///
    /// - Parameter isKept: whether the journal has the events before it.
    func endElsewhere(isKept: Bool) {
        switch state {
        case .catchingUp where isKept, .behind(after: _?) where isKept: break
        case .catchingUp(let catchUp):
            catchUp.end()
            state = .behind(after: nil)
        case .live, .ahead, .behind, .stranded, .displaced: state = .behind(after: nil)
        case .fetching, .draining, .ended: break
        }
        if isWaiting { advance() }
    }

    /// The history of the session is void: nothing more of it is written but what is in `unsent`,
    /// which ends with a whole event.
    func strand() {
        if case .catchingUp(let catchUp) = state { catchUp.end() }
        state = .stranded
        remote?.strand()
    }

    /// Joins a stream of the session's next generation; ``advance()`` then sends a `reset`.
    func move(to next: SharedStream, of feed: Feed) {
        stream.remove(self)
        if let remote {
            stream.moveReplica(remote, to: next)
            remote.strand()
        }
        self.feed = feed
        stream = next
        next.add(self)
        state = .displaced
    }

    /// Handles a gap: the reader reads the journal, or gets a `reset`.
    ///
    /// - Returns: whether to continue writing.
    private func resync(after position: HistoryPosition?) -> Bool {
        if let replica {
            fetch(from: replica, after: position)
            return false
        }
        if let position, rejoin(after: position) { return true }
        guard let position, let feed, feed.archive != nil,
            stream.ending == nil || feed.isElsewhere
        else { return reset(.trimmed) }
        guard feed.isAwake || feed.isElsewhere else {
            wake(feed)
            return false
        }
        // The position may have the part of a record's last event. The record has no more events
        // for this stream, so none is skipped.
        catchUp(after: position, of: feed)
        return true
    }

    /// Continues at an offset in the stream, if that has everything after the position.
    private func rejoin(after position: HistoryPosition) -> Bool {
        guard stream.selection.start(after: position) >= stream.coveredAfter else { return false }
        state = stream.place(after: position)
        return true
    }

    /// Continues when the session, which is asleep, has been loaded.
    private func wake(_ feed: Feed) {
        feed.loop.upstream?.wake(feed) { [self] isAwake in
            // The load may have found another generation, which has taken it over.
            guard !hasEnded, self.feed === feed else { return }
            if isAwake { advance() } else { abandon() }
        }
    }

    /// Sends a `reset`, and continues at the present.
    ///
    /// - Returns: whether to continue writing.
    private func reset(_ reason: ResetReason) -> Bool {
        if let ending = stream.ending {
            state = .draining(ending.offset)
            var opening = StreamOpening(isChunked: isChunked)
            stream.tally.countReset(reason)
            opening.block = EventFramer.resetBlock(reason, ending.position)
            return send(opening)
        }
        if let replica {
            fetch(from: replica, after: nil)
            return false
        }
        guard let feed else { return false }
        // Without a state in memory there is no snapshot for the reset.
        guard let opener = StreamOpener(feed) else {
            if feed.isElsewhere { feed.loop.upstream?.loadState(of: feed) } else { wake(feed) }
            return false
        }
        // The snapshot has the newest version, and the stream continues after it.
        feed.frameForReader(stream)
        if isLive || hasEnded { return true }
        do throws(WorkOverload) {
            let present = feed.committedPosition(for: stream.selection)
            let opening = try opener.reset(self, reason, at: present)
            state = stream.place(after: present)
            return send(opening)
        } catch {
            refuse()
            return false
        }
    }

    private func finish() {
        leave()
        if stream.isUnused { feed?.removeStream(stream) }
        output.finish(self)
    }

    private func leave(isMoving: Bool = false) {
        if case .catchingUp(let catchUp) = state { catchUp.end() }
        state = .ended
        isPending = false
        unsent = UnsentBytes()
        guard stream.remove(self) else { return }
        if let presence { presence.events.remove(self, presence) }
        if !isMoving, !isRemote { feed?.presence?.left(presence?.part) }
        replica?.left(self)
    }

    // MARK: A replica, on the loop of its readers

    private var replica: StreamReplica? {
        if case .replica(let replica) = way { replica } else { nil }
    }

    /// The loop of the session has the next events, reads them in the journal, or sends
    /// the `reset`.
    private func fetch(from replica: StreamReplica, after position: HistoryPosition?) {
        state = .fetching
        replica.fetch(for: self, after: position)
    }

    /// Some of what it lacks has arrived.
    func receive(_ run: FramedRun) {
        unsent.append(run.bytes[...], of: run.charge)
        if !isBlocked, sendUnsent() { advance() }
    }

    /// Everything that it lacked has arrived: the replica has the next events.
    func joinReplica() { state = .live(stream.end) }

    /// The last bytes that it gets have arrived.
    func finishFetching() {
        // Not the later bytes of the replica.
        state = .draining(.max)
        advance()
    }

    /// The history that was shown is void.
    func displace() { if case .behind = state { state = .displaced } }

    // MARK: Bytes

    /// Writes bytes after the unsent ones.
    ///
    /// - Parameter charge: counts the bytes until the connection has accepted them, if they are
    ///   many.
    /// - Returns: whether the connection has accepted everything.
    func send(_ bytes: [UInt8], of charge: AnyObject? = nil) -> Bool {
        unsent.append(bytes[...], of: charge)
        return !isBlocked && sendUnsent()
    }

    /// Writes an opening after the unsent bytes. Its snapshot is shared with other readers.
    ///
    /// - Returns: whether the connection has accepted everything.
    @discardableResult
    package func send(_ opening: StreamOpening) -> Bool {
        var head: [UInt8] = []
        opening.append(retryMilliseconds: nil, to: &head)
        if let remote { return send(head, opening, to: remote) }
        unsent.append(head[...])
        unsent.append(opening.snapshot[...], of: opening.held)
        unsent.append(opening.end[...])
        return !isBlocked && sendUnsent()
    }

    /// Writes an opening for readers on another loop, in one run. So each reader that lags has
    /// bytes of its own on the way, and they count for it. (Those for a replica count when sent.)
    private func send(_ head: [UInt8], _ opening: StreamOpening, to remote: RemoteReader) -> Bool {
        let count = head.count + opening.snapshot.count + opening.end.count
        var charge: WorkCharge?
        if case .lagging = remote.kind, count > WorkBudget.smallestBytes {
            charge = stream.tally.work.charge(count, for: client)
            guard charge != nil else {
                refuse()
                return false
            }
        }
        return send(head + opening.snapshot + opening.end, of: charge)
    }

    private func sendUnsent() -> Bool {
        while let next = unsent.first {
            if let remote {
                // Without a position their readers could not continue after them.
                if let position {
                    isBlocked = !remote.send(
                        Array(next), through: position, of: stream, unsent.firstCharge)
                    guard !isBlocked else { return false }
                }
                unsent.drop(next.count)
                continue
            }
            let accepted = output.write(next.span, to: id)
            unsent.drop(accepted)
            isBlocked = accepted < next.count
            if isBlocked { return false }
        }
        return true
    }
}
