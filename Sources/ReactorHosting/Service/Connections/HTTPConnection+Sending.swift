internal import Sockets

// From responses to the kernel.
extension HTTPConnection {
    /// Sends ``output``, and closes if that was the last.
    func flush() {
        if !output.isEmpty {
            if case .vacant = state {} else { send(output) }
            output.removeAll(keepingCapacity: true)
        }
        closeIfDone()
    }

    func closeIfDone() {
        if case .closing = state, !hasUnsent { close(.lingering) }
    }

    /// Sends, and keeps the bytes that the kernel does not accept. They are bounded: no further
    /// request of a connection is served while it has unsent responses.
    func send(_ bytes: [UInt8]) {
        if let buffers, !buffers.unsent.isEmpty {
            buffers.unsent.append(bytes[...])
            return
        }
        let taken = loop.table.send(id, bytes.span)
        guard taken < bytes.count else { return }
        makeBuffers().unsent.append(bytes[taken...])
        waitForRoom()
    }

    /// The same for bytes and a large body behind them, whose storage is kept and not copied.
    func send(_ bytes: [UInt8], _ body: ArraySlice<UInt8>) {
        var taken = 0
        if !hasUnsent {
            taken = loop.table.send(id, bytes.span, body.span)
            guard taken < bytes.count + body.count else { return }
        }
        let buffers = makeBuffers()
        let wasEmpty = buffers.unsent.isEmpty
        buffers.unsent.append(bytes.dropFirst(taken))
        buffers.unsent.append(body.dropFirst(max(0, taken - bytes.count)))
        if wasEmpty { waitForRoom() }
    }

    /// From here on the connection waits for the peer, which may have sent its request long ago.
    private func waitForRoom() {
        lastProgress = loop.now
        loop.table.pauseReading(id)
        rearm()
    }

    /// There is room again.
    ///
    /// - Returns: whether everything is sent.
    func sendUnsent() -> Bool {
        guard let buffers else { return true }
        while !buffers.unsent.isEmpty {
            let taken = loop.table.send(id, gathering: buffers.unsent.pieces)
            // Once the kernel has accepted less than it was offered, it accepts nothing.
            if taken == 0 { return false }
            buffers.unsent.removeFirst(taken)
            loop.heap.freed(taken)
            lastProgress = loop.now
        }
        return true
    }

    /// Events, from the session.
    ///
    /// - Returns: how many bytes the kernel accepted.
    func writeEvents(_ bytes: Span<UInt8>) -> Int {
        let taken = loop.table.send(id, bytes)
        if taken > 0 {
            lastProgress = loop.now
            loop.counters.streamBytes += UInt64(taken)
        }
        loop.counters.streamWrites += 1
        return taken
    }
}
