#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ConnectionTable {
    /// Stops `received` and `peerFinished` for this connection until `resumeReading`. Arriving
    /// bytes wait in the kernel, whose receive window then slows down the peer. A reset is still
    /// reported (by the Dispatch poller only after the next send).
    package func pauseReading(_ connection: ConnectionID) {
        guard let index = usable(connection), !slots[index].flags.contains(.paused) else { return }
        slots[index].flags.insert(.paused)
        if !slots[index].flags.contains(.peerFinished) { poller.setReading(false, connection) }
    }

    /// Undoes `pauseReading`; bytes that arrived meanwhile are delivered in the next pass.
    package func resumeReading(_ connection: ConnectionID) {
        guard let index = usable(connection), slots[index].flags.contains(.paused) else { return }
        slots[index].flags.remove(.paused)
        guard !slots[index].flags.contains(.peerFinished) else { return }
        poller.setReading(true, connection)
        // An edge-triggered poller does not report the same readiness twice.
        if !slots[index].flags.isDisjoint(with: [.readable, .holdsBytes]) { queue(index) }
    }

    /// Receives a slice before the connection is served, if it has bytes and no other pending
    /// state. The end of the peer's stream is left to the read in `serve`, which finds it again.
    func receiveAhead(_ connection: ConnectionID) {
        guard !ahead.isFull, let index = live(connection),
            slots[index].flags.isSubset(of: [.open, .readable, .readToEnd, .queued])
        else { return }
        let slice = unsafe ahead.freeSlice
        let outcome = unsafe SocketCalls.receive(slots[index].descriptor, into: slice)
        if case .moved(0) = outcome { return }
        record(outcome, of: slice.count, index)
        if case .moved(let count) = outcome { ahead.append(connection, count: count) }
    }

    func hold(_ bytes: [UInt8], for connection: ConnectionID) {
        guard !bytes.isEmpty, let index = usable(connection) else { return }
        held[index] = bytes
        slots[index].flags.insert(.holdsBytes)
        if !slots[index].flags.contains(.paused) { queue(index) }
    }

    /// The kept bytes, unless the handler has paused reading.
    func dequeueHeld(_ index: Int) -> [UInt8]? {
        guard slots[index].flags.contains(.holdsBytes), !slots[index].flags.contains(.paused)
        else { return nil }
        slots[index].flags.remove(.holdsBytes)
        return held.removeValue(forKey: index)
    }

    /// Records an event in the flags of its connection, which decide on its handling.
    func record(_ event: PollEvent) {
        guard let index = live(event.id) else { return }
        let readiness = event.readiness
        if readiness.contains(.readable) { slots[index].flags.insert(.readable) }
        if readiness.contains(.readToEnd) { slots[index].flags.insert(.readToEnd) }
        if readiness.contains(.writable), slots[index].flags.contains(.awaitsRoom) {
            slots[index].flags.remove(.awaitsRoom)
            slots[index].flags.insert(.roomArrived)
            poller.roomArrived(event.id)
        }
        // While reading is paused, no read would find the error.
        if readiness.contains(.broken),
            !slots[index].flags.isDisjoint(with: [.paused, .peerFinished])
        {
            let code = SocketCalls.pendingError(slots[index].descriptor)
            fail(index, code == 0 ? ECONNRESET : code)
        }
    }

    /// Reads once, if reading is not paused or over.
    func read(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) -> SocketCalls.Outcome? {
        let flags = slots[index].flags
        guard flags.contains(.readable),
            flags.isDisjoint(with: [.paused, .peerFinished, .failed])
        else { return nil }
        let outcome = unsafe SocketCalls.receive(slots[index].descriptor, into: buffer)
        record(outcome, of: buffer.count, index)
        return outcome
    }

    /// - Parameter wanted: The number of bytes for which the read had room.
    private func record(_ outcome: SocketCalls.Outcome, of wanted: Int, _ index: Int) {
        let flags = slots[index].flags
        switch outcome {
        case .moved(0):
            slots[index].flags.insert(.peerFinished)
            slots[index].flags.remove([.readable, .readToEnd])
            poller.setReading(false, id(at: index))
        case .moved(let count):
            if count < wanted, poller.shortReadMeansDrained, !flags.contains(.readToEnd) {
                slots[index].flags.remove(.readable)
            }
        case .wouldBlock:
            slots[index].flags.remove([.readable, .readToEnd])
        case .failed(let code):
            fail(index, code)
        }
    }
}
