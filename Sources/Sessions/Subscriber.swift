internal import Storage

/// A reader of one stream: a position in its bytes.
///
/// It costs these few words. What it has not taken stays where it is, in the stream, which is
/// bounded; it holds up nobody and nothing.
package final class Subscriber {
    /// What the floor above calls it.
    package let id: UInt64
    private weak var session: Session?
    unowned let output: any SessionOutput
    let stream: StreamLog
    /// Everything before it is written or in `unsent`.
    var cursor: Int
    /// It did not take all it was given: nothing is written until there is room again.
    package internal(set) var isBlocked = false
    /// The way back to the stream, over what only the journal has.
    var replay: Replay? {
        didSet { isReplaying = replay != nil }
    }
    /// Law: `replay != nil`. Beside `isBlocked`: both are asked for every event.
    private(set) var isReplaying = false
    /// The stream dropped what it had not read: `reset` comes next, or what the journal has.
    var isLost = false
    /// Lost after this event.
    var lostAfter: HistoryPosition?
    /// What must be written before anything from the stream: the rest of the opening bytes, or
    /// of the event in which the reader was left behind. Storage is shared where it can be.
    var unsent: ArraySlice<UInt8> = []
    /// Its place in `stream.subscribers`.
    var index = 0

    /// Whether the connection gets its body in chunks.
    package var isChunked: Bool { stream.selection.isChunked }

    init(id: UInt64, session: Session, stream: StreamLog, cursor: Int) {
        self.id = id
        self.session = session
        self.output = session.table.output
        self.stream = stream
        self.cursor = cursor
    }

    /// Bytes of the opening that the connection did not take; they go first.
    package func hold(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        unsent = bytes
        isBlocked = true
    }

    /// The connection has bytes of its own to send first: nothing is written until ``resume()``.
    package func waitForRoom() {
        isBlocked = true
    }

    /// There is room again: writes on from where it was, or soon.
    package func resume() {
        guard isReplaying, let session else { return writeOn() }
        session.table.turns.take { [self] in writeOn() }
    }

    private func writeOn() {
        isBlocked = false
        guard sendUnsent() else { return }
        goOn()
    }

    /// Everything that was held back is written: on with what comes next.
    func goOn() {
        guard !isBlocked else { return }
        if let replay { return replay.proceed() }
        if isLost {
            isLost = false
            if replayLost() { return }
            guard let opening = comeBack(), send(opening) else { return }
        }
        stream.advance(self, through: output)
        if stream.isEnded { finishIfDone() }
    }

    /// What was dropped here may be in the journal.
    private func replayLost() -> Bool {
        guard let session, let lostAfter, stream.ending == nil, session.keeping != nil else {
            return false
        }
        self.lostAfter = nil
        // The last event of a record may stand here for the whole of it; that skips nothing.
        Replay(self, of: session, after: lostAfter).proceed()
        return true
    }

    /// The connection ends here; the client comes back with the id it has.
    func abandon() {
        cancel()
        output.finish(self)
    }

    /// The connection is gone.
    package func cancel() {
        replay?.cancel()
        stream.remove(self)
        if stream.isUnused { session?.removeStream(stream) }
    }

    /// The session has ended: what is only in the journal goes with it.
    func stopReplaying() {
        guard let replay else { return }
        replay.cancel()
        isLost = true
        lostAfter = nil
    }

    /// The session's end is in the stream: a reader that was on its way back to it goes there now,
    /// for nothing else ever asks it to.
    func finishAtEnd() {
        guard isLost else { return finishIfDone() }
        goOn()
    }

    /// After the session's end: nothing is left to write.
    func finishIfDone() {
        guard !isBlocked, cursor == stream.end else { return }
        stream.remove(self)
        output.finish(self)
    }

    /// Moves on to what is there; answers what tells of the gap, nil if there is no session
    /// whose state could be shown.
    private func comeBack() -> StreamOpening? {
        if let ending = stream.ending {
            cursor = ending.offset
            var opening = StreamOpening(isChunked: isChunked)
            opening.block = Framing.resetBlock(.trimmed, ending.position)
            return opening
        }
        // Of a session that has no state in memory there is nothing to show.
        guard let session else { return nil }
        guard session.machine != nil else {
            abandon()
            return nil
        }
        cursor = stream.end
        return session.reset(self)
    }

    /// Writes these bytes behind what is unsent. Answers whether everything went out.
    func send(_ bytes: [UInt8]) -> Bool {
        guard unsent.isEmpty, !isBlocked else {
            unsent.append(contentsOf: bytes)
            return false
        }
        unsent = bytes[...]
        return sendUnsent()
    }

    /// The same of what precedes the events of the stream.
    func send(_ opening: StreamOpening) -> Bool {
        var bytes: [UInt8] = []
        opening.append(retryMilliseconds: nil, to: &bytes)
        return send(bytes + opening.snapshot)
    }

    /// Answers whether everything went out.
    func sendUnsent() -> Bool {
        guard !unsent.isEmpty else { return true }
        let held = unsent
        let taken = output.write(held.span, to: id)
        isBlocked = taken < held.count
        unsent = isBlocked ? held.dropFirst(taken) : []
        return !isBlocked
    }
}
