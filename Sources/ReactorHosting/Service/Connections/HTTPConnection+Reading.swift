internal import Sockets
internal import Wire

// Input: passed to a turn, or kept in the buffers until it can be read.
extension HTTPConnection {
    func receive(_ bytes: RawSpan) {
        switch state {
        case .reading where !output.hasRoom: keepPending(bytes)
        case .reading where loop.schedule.isRoundUsedUp:
            guard RequestDispatcher.isProbe(bytes, on: self) else {
                keepPending(bytes)
                return loop.schedule.postpone(id, .light)
            }
            readNow(bytes, requests: 1)
        case .reading: readNow(bytes, requests: WorkSchedule.turnRequests)
        case .waiting: keepPending(bytes)
        case .streaming, .closing, .vacant: break
        }
    }

    private func readNow(_ bytes: RawSpan, requests: Int) {
        lastProgress = loop.now
        let consumed = RequestTurn.run(on: self, bytes, requests: requests)
        if consumed < bytes.byteCount {
            keepPending(bytes.extracting(consumed..<bytes.byteCount))
        }
        dropIdleBuffers()
    }

    /// Continues with the bytes that were received while a response was due or the output budget
    /// was used up, then with the socket. The connection of a peer that has finished is closed
    /// after its last request was served; while draining, so is every connection.
    func continueReading() {
        let turn = id
        guard isReading, output.hasRoom else { return }
        if let buffers, !buffers.pending.isEmpty {
            let pending = buffers.pending
            buffers.pending = []
            // Safe: bytes have no padding, which is why a span's raw bytes are marked.
            let consumed = unsafe RequestTurn.run(
                on: self, pending.span.bytes, requests: WorkSchedule.turnRequests)
            if consumed < pending.count { keepPending(pending.dropFirst(consumed)) }
        }
        guard id == turn, isReading, output.hasRoom, buffers?.pending.isEmpty ?? true
        else { return }
        if peerIsFinished { return close(.now) }
        if loop.service.isDraining, reader.isBetweenRequests { return close(.lingering) }
        loop.table.resumeReading(id)
        dropIdleBuffers()
    }

    /// Keeps bytes that cannot be read yet. Reading pauses: further bytes stay in the kernel, so a
    /// client that does not wait for responses has at most one read buffer here.
    private func keepPending(_ bytes: RawSpan) {
        var rest: [UInt8] = []
        rest.append(copying: bytes)
        keepPending(rest[...])
    }

    func keepPending(_ rest: ArraySlice<UInt8>) {
        switch state {
        case .reading, .waiting: break
        case .streaming, .closing, .vacant: return
        }
        let buffers = makeBuffers()
        if buffers.pending.isEmpty { buffers.pending = rest } else { buffers.pending += rest }
        loop.table.pauseReading(id)
    }
}
