#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ConnectionTable {
    /// No `received` and no `peerFinished` for this connection until `resumeReading`. What arrives
    /// waits in the kernel, whose window then holds the peer up. A reset is still told (by the
    /// Dispatch poller only once something is sent).
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
        // An edge-triggered poller does not repeat itself.
        if !slots[index].flags.isDisjoint(with: [.readable, .holdsBytes]) { queue(index) }
    }

    /// Receives a slice before the connection is served, if it has bytes and nothing else is to be
    /// done about it. The peer's end is left to the read that serves it, which finds it again.
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

    /// Keeps bytes that were received, until the handler wants them.
    func hold(_ bytes: [UInt8], for connection: ConnectionID) {
        guard !bytes.isEmpty, let index = usable(connection) else { return }
        held[index] = bytes
        slots[index].flags.insert(.holdsBytes)
        if !slots[index].flags.contains(.paused) { queue(index) }
    }

    /// The bytes that were kept, unless the handler does not read.
    func dequeueHeld(_ index: Int) -> [UInt8]? {
        guard slots[index].flags.contains(.holdsBytes), !slots[index].flags.contains(.paused)
        else { return nil }
        slots[index].flags.remove(.holdsBytes)
        return held.removeValue(forKey: index)
    }

    /// Records an event in the flags of its connection, which decide what is done about it.
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
        // Where nobody reads, no read would come upon the error.
        if readiness.contains(.broken),
            !slots[index].flags.isDisjoint(with: [.paused, .peerFinished])
        {
            let code = SocketCalls.pendingError(slots[index].descriptor)
            fail(index, code == 0 ? ECONNRESET : code)
        }
    }

    /// Reads once, if the connection is to be read.
    func read(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) -> SocketCalls.Outcome? {
        let flags = slots[index].flags
        guard flags.contains(.readable),
            flags.isDisjoint(with: [.paused, .peerFinished, .failed])
        else { return nil }
        let outcome = unsafe SocketCalls.receive(slots[index].descriptor, into: buffer)
        record(outcome, of: buffer.count, index)
        return outcome
    }

    /// - Parameter wanted: how many bytes the read had room for.
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
