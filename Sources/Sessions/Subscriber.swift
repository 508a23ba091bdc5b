internal import Storage

/// A reader of one stream: a position in its bytes.
///
/// Design: the events themselves stay in the stream, which is bounded, or in the journal; a slow
/// reader costs these few words and delays nothing else.
package final class Subscriber {
    /// Where the reader stands.
    enum State {
        /// Everything before this offset of the stream is written or in `unsent`.
        case live(Int)
        /// The reader is between the journal and the stream.
        case catchingUp(CatchUp)
        /// The stream has dropped events that the reader has not got. After this position the
        /// journal may have them; nil: nothing has.
        case behind(after: HistoryPosition?)
        /// The session has ended: the rest of the stream from this offset, then the end.
        case draining(Int)
        /// Nothing more is written.
        case ended
    }

    /// The connection's token in the service.
    package let id: UInt64
    private weak var session: Session?
    private unowned let output: any SessionOutput
    let stream: SharedStream
    private(set) var state: State
    /// The connection did not accept all bytes: nothing is written until ``resume()``.
    package private(set) var isBlocked = false
    /// Bytes to write before anything else: the rest of the opening, of a slice of the journal, or
    /// of the event that was interrupted when the reader fell behind. Storage is shared where
    /// possible.
    private var unsent: ArraySlice<UInt8> = []
    /// The index in `stream.subscribers`.
    var index = 0

    /// Whether the connection gets its body in chunks.
    package var isChunked: Bool { stream.selection.isChunked }

    /// - Parameter offset: where the reader begins in the stream.
    init(id: UInt64, session: Session, stream: SharedStream, at offset: Int) {
        self.id = id
        self.session = session
        self.output = session.table.output
        self.stream = stream
        state = .live(offset)
    }

    /// The stream has nothing that the reader has not got.
    var hasAll: Bool { if case .live(stream.end) = state { true } else { false } }

    /// Everything is written, and nothing is under way.
    var isAtRest: Bool { hasAll && !isBlocked && unsent.isEmpty }

    var isLive: Bool { if case .live = state { true } else { false } }

    // MARK: The connection

    /// Adds bytes of the opening that the connection did not accept.
    package func hold(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        unsent = bytes
        isBlocked = true
    }

    /// The connection has bytes of its own to send first: nothing is written until ``resume()``.
    package func waitForRoom() {
        isBlocked = true
    }

    /// The connection accepts bytes again: writing resumes, at once or in a later iteration of the
    /// loop.
    package func resume() {
        guard case .catchingUp = state, let session else { return unblock() }
        session.table.background.append { [self] in unblock() }
    }

    private func unblock() {
        if case .ended = state { return }
        isBlocked = false
        if sendUnsent() { advance() }
    }

    /// The connection is gone.
    package func cancel() {
        leave()
        if stream.isUnused { session?.removeStream(stream) }
    }

    /// Closes the connection; the client comes back with the id it has.
    func abandon() {
        cancel()
        output.finish(self)
    }

    // MARK: Events

    /// Writes the bytes that were added to the stream. Readers that are not live get them later.
    ///
    /// - Parameter newest: the stream's newest chunk.
    func deliver(_ newest: ChunkedBytes.Chunk, to output: any SessionOutput) {
        guard !isBlocked, case .live(let offset) = state, offset < newest.end else { return }
        guard offset >= newest.start else { return deliver() }
        let missing = newest.end - offset
        let accepted = output.write(
            newest.bytes.span.extracting(last: missing), to: id)
        state = .live(offset + accepted)
        isBlocked = accepted < missing
    }

    private func deliver() {
        guard !isBlocked, case .live(let offset) = state, offset < stream.end else { return }
        state = .live(write(from: offset))
    }

    /// Continues with whatever is next, until the connection accepts no more or nothing is left.
    func advance() {
        while !isBlocked {
            switch state {
            case .live: return deliver()
            case .catchingUp(let catchUp): return catchUp.proceed()
            case .behind(let position): guard resync(after: position) else { return }
            case .draining(let offset):
                state = .draining(write(from: offset))
                if case .draining(stream.end) = state, !isBlocked { finish() }
                return
            case .ended: return
            }
        }
    }

    private func write(from offset: Int) -> Int {
        var offset = offset
        stream.read(from: offset) { span in
            let accepted = output.write(span, to: id)
            offset += accepted
            isBlocked = accepted < span.count
            return !isBlocked
        }
        return offset
    }

    /// The reader's next event is in the journal alone.
    ///
    /// - Parameter isFromStart: the client wants everything that is kept, and has no id.
    func catchUp(after position: HistoryPosition, of session: Session, isFromStart: Bool = false) {
        state = .catchingUp(
            CatchUp(self, of: session, after: position, isFromStart: isFromStart))
    }

    /// The stream has everything that comes next.
    ///
    /// - Parameter opening: bytes that precede it.
    func join(at offset: Int, _ opening: StreamOpening?) {
        state = .live(offset)
        if let opening, !send(opening) { return }
        advance()
    }

    /// The stream no longer has what comes next.
    ///
    /// - Parameters:
    ///   - position: what the reader has got once `rest` is written; nil: the journal does not have
    ///     what comes next either.
    ///   - rest: of the event that it has got a part of.
    func fallBehind(after position: HistoryPosition?, rest: [UInt8] = []) {
        state = .behind(after: position)
        unsent.append(contentsOf: rest)
    }

    /// The session has ended, and the stream has its `end` event.
    func drain() {
        switch state {
        case .live(let offset): state = .draining(offset)
        case .catchingUp(let catchUp):
            catchUp.end()
            state = .behind(after: nil)
        case .behind, .draining, .ended: break
        }
        advance()
    }

    /// Leaves the gap behind: by reading the journal, or with a `reset`.
    ///
    /// - Returns: whether there is something to write next.
    private func resync(after position: HistoryPosition?) -> Bool {
        if let ending = stream.ending {
            state = .draining(ending.offset)
            var opening = StreamOpening(isChunked: isChunked)
            opening.block = EventFramer.resetBlock(.trimmed, ending.position)
            return send(opening)
        }
        guard let session else { return false }
        if let position, session.persistence != nil {
            // The position may be that of the last event of a record, and not bare: the record has
            // no more events for this stream, so nothing is skipped.
            catchUp(after: position, of: session)
            return true
        }
        // A session without a state in memory has nothing to show.
        guard session.isAwake else {
            abandon()
            return false
        }
        state = .live(stream.end)
        return send(StreamOpener(session: session).reset(self))
    }

    private func finish() {
        leave()
        output.finish(self)
    }

    private func leave() {
        if case .catchingUp(let catchUp) = state { catchUp.end() }
        state = .ended
        stream.remove(self)
    }

    // MARK: Bytes

    /// Writes bytes behind those that are unsent.
    ///
    /// - Returns: whether the connection has accepted everything.
    func send(_ bytes: [UInt8]) -> Bool {
        guard unsent.isEmpty, !isBlocked else {
            unsent.append(contentsOf: bytes)
            return false
        }
        unsent = bytes[...]
        return sendUnsent()
    }

    private func send(_ opening: StreamOpening) -> Bool {
        var bytes: [UInt8] = []
        opening.append(retryMilliseconds: nil, to: &bytes)
        return send(bytes + opening.snapshot)
    }

    private func sendUnsent() -> Bool {
        guard !unsent.isEmpty else { return true }
        let held = unsent
        let accepted = output.write(held.span, to: id)
        isBlocked = accepted < held.count
        unsent = isBlocked ? held.dropFirst(accepted) : []
        return !isBlocked
    }
}
