internal import Sockets

// From responses to the kernel.
extension HTTPConnection {
    /// Whether the kernel has not accepted all responses.
    var hasUnsent: Bool { output.isBlocked }

    /// Sends the responses of `act` together: at the end of the current turn, or of a separate one.
    func inTurn(_ act: () -> Void) {
        guard !output.isInTurn else { return act() }
        beginTurn()
        act()
        endTurn()
    }

    /// Starts to collect responses in ``output``.
    func beginTurn() {
        output.beginTurn(loop.pool.borrowOutput())
    }

    /// Sends the responses of the turn, and closes after the last response of the connection.
    func endTurn() {
        flush()
        output.endTurn(recycling: loop.pool)
    }

    /// Sends the responses of the turn so far, and closes after the connection's last one.
    func flush() {
        if case .vacant = state { return }
        if output.flush(to: id, loop.table) { waitForRoom() }
        if case .closing = state, !hasUnsent { close(.lingering) }
    }

    /// From now on the connection waits for the peer, which may have sent its request long ago.
    private func waitForRoom() {
        _ = makeBuffers()
        lastProgress = loop.now
        loop.table.pauseReading(id)
        rearm()
    }

    /// The kernel has room again.
    func writable() {
        let accepted = output.sendUnsent(to: id, loop.table)
        if accepted > 0 {
            loop.heap.freed(accepted)
            lastProgress = loop.now
        }
        guard !hasUnsent else { return }
        switch state {
        case .vacant: break
        case .closing: close(.lingering)
        case .reading where loop.schedule.isRoundUsedUp: loop.schedule.postpone(id, .heavy)
        case .reading: continueReading()
        case .waiting: ConnectionMigration.resume(self)
        case .streaming(let stream):
            resumeReadingOfStream()
            stream.resume()
            // While it was blocked, the deadline may have become that of a stall.
            rearm()
        }
    }

    /// Resumes reading once everything that precedes the stream's events is sent. Received bytes
    /// are dropped. When the client closes its sending side, the stream ends
    /// (``peerFinished()``).
    func resumeReadingOfStream() {
        buffers = nil
        loop.table.resumeReading(id)
    }

    /// Sends events of the session. Returns the number of bytes that the kernel accepted.
    func writeEvents(_ bytes: Span<UInt8>) -> Int {
        let accepted = loop.table.send(id, bytes)
        if accepted > 0 {
            lastProgress = loop.now
            loop.counters.streamBytes += UInt64(accepted)
            if loop.settings.hasAccessLog { stream?.count(accepted) }
        }
        loop.counters.streamWrites += 1
        if accepted < bytes.count { stream?.becomesBlocked() }
        return accepted
    }
}
