internal import Sockets
internal import Wire

// Bytes in: from the socket through Wire's machine to a request.
extension HTTPConnection {
    func receive(_ bytes: RawSpan) {
        switch state {
        case .reading where hasUnsent: keepPending(bytes)
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
        let consumed = read(bytes, requests: requests)
        if consumed < bytes.byteCount {
            keepPending(bytes.extracting(consumed..<bytes.byteCount))
        }
        dropIdleBuffers()
    }

    /// Reads requests off `bytes` until one has to wait for its response, or the connection's output
    /// budget is used up: then it has another turn when the kernel has accepted the responses.
    ///
    /// - Parameter limit: of requests in this turn.
    /// - Returns: how many bytes were consumed; the caller keeps the rest.
    private func read(_ bytes: RawSpan, requests limit: Int) -> Int {
        let turn = id
        beginTurn()
        var request = buffers?.removePartial(loop) ?? loop.pool.borrowRequest()
        var (offset, requests) = (0, 0)
        var owner: Int?
        let madeBefore = loop.schedule.madeBytes
        while offset < bytes.byteCount, id == turn, isReading, requests < limit, !hasUnsent,
            loop.schedule.madeBytes - madeBefore < WorkSchedule.turnBytes
        {
            do throws(RequestRefusal) {
                switch try next(&request, bytes, at: &offset) {
                case .needsMore: keepPartial(&request)
                case .continueExpected:
                    // The body is yet to come: nothing of it was in this input.
                    output.append(contentsOf: ResponseEncoder.continueResponse)
                    keepPartial(&request)
                case .complete:
                    requests += 1
                    requestBegan = nil
                    loop.counters.requests += 1
                    owner = RequestDispatcher.serve(&request, on: self)
                }
            } catch {
                refuse(Problem(error))
                offset = bytes.byteCount
            }
        }
        endTurn()
        if let owner, id == turn {
            ConnectionMigration.begin(
                self, with: &request, to: owner, rest: bytes.extracting(offset..<bytes.byteCount))
            offset = bytes.byteCount
        }
        loop.pool.recycle(&request)
        guard offset < bytes.byteCount, id == turn else { return bytes.byteCount }
        if isReading, !hasUnsent {
            let isHeavy = loop.schedule.madeBytes - madeBefore >= WorkSchedule.turnBytes
            loop.schedule.postpone(id, isHeavy ? .heavy : .light)
        }
        return offset
    }

    private func next(
        _ request: inout Request, _ bytes: RawSpan, at offset: inout Int
    ) throws(RequestRefusal) -> RequestReader.Progress {
        // Taken out and put back: a long access to a property has each short one, and there are
        // many, checked by the runtime.
        var reader = reader
        defer { self.reader = reader }
        return try reader.next(bytes, at: &offset, head: &request.head, body: &request.body)
    }

    /// The kernel has room again.
    func writable() {
        guard sendUnsent() else { return }
        switch state {
        case .vacant: break
        case .closing: close(.lingering)
        case .reading where loop.schedule.isRoundUsedUp: loop.schedule.postpone(id, .heavy)
        case .reading: continueReading()
        case .waiting: ConnectionMigration.resume(self)
        case .streaming(let stream):
            buffers = nil
            stream.resume()
        }
    }

    /// Continues with the bytes that came while a response was due or the output budget was used up,
    /// then with the socket. A peer that has finished is served up to its last request and only then
    /// closed; so is, while draining, every peer.
    func continueReading() {
        let turn = id
        guard isReading, !hasUnsent else { return }
        if let buffers, !buffers.pending.isEmpty {
            let pending = buffers.pending
            buffers.pending = []
            // Safe: bytes have no padding, which is why a span's raw bytes are marked.
            let consumed = unsafe read(
                pending.span.bytes, requests: WorkSchedule.turnRequests)
            if consumed < pending.count { keepPending(pending.dropFirst(consumed)) }
        }
        guard id == turn, isReading, !hasUnsent, buffers?.pending.isEmpty ?? true else { return }
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

    /// Keeps the part of a request that has arrived; refuses it when all bodies together take too
    /// much memory.
    private func keepPartial(_ request: inout Request) {
        guard !reader.isBetweenRequests else { return }
        guard makeBuffers().keepPartial(&request, charging: loop.service.bodies) else {
            guard reader.isReadingHead else { return refuse(.tooManyBodies) }
            // It may ask for a stream, which gets no 5xx: it gets no response.
            state = .closing
            return
        }
        guard requestBegan == nil else { return }
        requestBegan = loop.now
        rearm()
    }
}
