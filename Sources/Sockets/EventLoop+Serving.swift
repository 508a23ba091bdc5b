extension EventLoop {
    /// Serves a connection from which nothing was received ahead.
    func serve(_ id: ConnectionID, _ handler: Handler) {
        unsafe serve(id, handler, ahead: nil)
    }

    /// Serves one connection by its flags: reports a failure, new room and received bytes.
    ///
    /// - Parameter ahead: The bytes that were received from it ahead.
    func serve(_ id: ConnectionID, _ handler: Handler, ahead: UnsafeRawBufferPointer?) {
        guard let index = table.live(id) else { return }
        let flags = table.slots[index].flags
        if flags.contains(.failed) {
            end(index, id, handler)
            return
        }
        if flags.contains(.lingering) {
            drop(index)
            return
        }
        if flags.contains(.roomArrived) {
            table.slots[index].flags.remove(.roomArrived)
            isRoundOpen = true
            handler.writable(id)
        }
        if let bytes = unsafe ahead { unsafe deliver(bytes, id, handler) }
        if flags.contains(.holdsBytes) { deliverHeld(id, handler) }
        if flags.contains(.readable) { read(id, handler) }
    }

    /// Delivers the bytes that were received ahead. The handler may have closed or paused the
    /// connection meanwhile, while it served another one.
    private func deliver(
        _ bytes: UnsafeRawBufferPointer, _ id: ConnectionID, _ handler: Handler
    ) {
        guard let index = table.usable(id) else { return }
        guard !table.slots[index].flags.contains(.paused) else {
            return unsafe table.hold([UInt8](bytes), for: id)
        }
        isRoundOpen = true
        handler.received(id, unsafe bytes.bytes)
    }

    private func deliverHeld(_ id: ConnectionID, _ handler: Handler) {
        guard let index = table.usable(id), let bytes = table.dequeueHeld(index) else { return }
        isRoundOpen = true
        // Any UInt8 may be read as a raw byte.
        handler.received(id, unsafe bytes.span.bytes)
    }

    private func end(_ index: Int, _ id: ConnectionID, _ handler: Handler) {
        let wasLingering = table.slots[index].flags.contains(.lingering)
        let code = table.slots[index].failure
        table.closeNow(index)
        guard !wasLingering else { return }
        isRoundOpen = true
        handler.closed(id, CloseReason(code: code))
    }

    /// Reads until the socket is empty, the handler pauses, or the bound is reached. Each callback
    /// may close, pause or detach the connection, so all state is read again after it.
    private func read(_ id: ConnectionID, _ handler: Handler) {
        let buffer = unsafe readBuffer.memory
        var left = Self.readBoundBytes
        while let index = table.usable(id) {
            guard left > 0 else {
                table.queue(index)
                return
            }
            guard case .moved(let count)? = unsafe table.read(index, into: buffer) else { return }
            isRoundOpen = true
            if count == 0 {
                handler.peerFinished(id)
                return
            }
            left -= count
            handler.received(id, unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
        }
    }

    /// Reads and drops input until the peer of a lingering connection closes or has sent too much.
    private func drop(_ index: Int) {
        let buffer = unsafe readBuffer.memory
        var left = Self.readBoundBytes
        while left > 0 {
            guard let outcome = unsafe table.read(index, into: buffer) else { return }
            switch outcome {
            case .moved(0), .failed:
                table.closeNow(index)
                return
            case .moved(let count):
                left -= count
                table.slots[index].lingerBytesLeft -= Int32(count)
                guard table.slots[index].lingerBytesLeft > 0 else {
                    table.closeNow(index)
                    return
                }
            case .wouldBlock:
                return
            }
        }
        table.queue(index)
    }
}
