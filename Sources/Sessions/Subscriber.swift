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
    /// The stream dropped what it had not read: `reset` comes next.
    var isLost = false
    /// What must be written before anything from the stream: the rest of the opening bytes, or
    /// of the event in which the reader was left behind. Storage is shared where it can be.
    var unsent: ArraySlice<UInt8> = []
    /// Its place in `stream.subscribers`.
    var index = 0

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

    /// There is room again: writes on from where it was.
    package func resume() {
        isBlocked = false
        guard sendUnsent() else { return }
        if isLost {
            isLost = false
            unsent = comeBack()[...]
            guard sendUnsent() else { return }
        }
        stream.advance(self, through: output)
        if stream.isEnded { finishIfDone() }
    }

    /// The connection is gone.
    package func cancel() {
        stream.remove(self)
        if stream.isUnused { session?.removeStream(stream) }
    }

    /// After the session's end: nothing is left to write.
    func finishIfDone() {
        guard !isBlocked, cursor == stream.end else { return }
        stream.remove(self)
        output.finish(self)
    }

    /// Moves on to what is there; answers what tells of the gap.
    private func comeBack() -> [UInt8] {
        if let ending = stream.ending {
            cursor = ending.offset
            var bytes: [UInt8] = []
            Framing.appendReset(.trimmed, ending.position, to: &bytes)
            return bytes
        }
        cursor = stream.end
        return session?.reset(self) ?? []
    }

    private func sendUnsent() -> Bool {
        guard !unsent.isEmpty else { return true }
        let held = unsent
        let taken = output.write(held.span, to: id)
        isBlocked = taken < held.count
        unsent = isBlocked ? held.dropFirst(taken) : []
        return !isBlocked
    }
}
