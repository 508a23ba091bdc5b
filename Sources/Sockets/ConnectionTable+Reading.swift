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
        if slots[index].flags.contains(.readable) { queue(index) }
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
        switch outcome {
        case .moved(0):
            slots[index].flags.insert(.peerFinished)
            slots[index].flags.remove([.readable, .readToEnd])
            poller.setReading(false, id(at: index))
        case .moved(let count):
            if count < buffer.count, poller.shortReadMeansDrained, !flags.contains(.readToEnd) {
                slots[index].flags.remove(.readable)
            }
        case .wouldBlock:
            slots[index].flags.remove([.readable, .readToEnd])
        case .failed(let code):
            fail(index, code)
        }
        return outcome
    }
}
