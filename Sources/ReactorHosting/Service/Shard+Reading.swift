internal import Sessions
internal import Sockets
internal import Wire

// Bytes in: from the socket through Wire's machine to an operation.
extension Shard {
    /// Requests that a connection has carried out in one turn, and bytes of answers that it has
    /// made there, before the rest waits: its output budget. One answer may begin below it.
    static let turnRequests = 64
    private static let turnBytes = 64 << 10

    /// Reads requests off `bytes` until one has to wait for its answer, or the connection's output
    /// budget is used up: then it gets another turn when the kernel has taken what was made.
    ///
    /// - Parameter limit: of requests in this turn.
    /// - Returns: how many bytes were consumed; the rest, if any, is to be held.
    func read(_ connection: ConnectionID, _ bytes: RawSpan, requests limit: Int) -> Int {
        let slot = Int(connection.slot)
        out.removeAll(keepingCapacity: true)
        readingConnection = connection
        defer {
            readingConnection = nil
            if body.capacity > Self.scratchLimitBytes { body = [] }
        }
        takePartialRequest(slot)
        var offset = 0
        var requests = 0
        let answeredBefore = answered
        while offset < bytes.byteCount, isCurrent(connection), exchanges[slot].isReading,
            requests < limit, answered - answeredBefore < Self.turnBytes,
            !exchanges[slot].hasUnsent
        {
            let progress: RequestReader.Progress
            do {
                progress = try nextRequest(exchanges[slot], bytes, at: &offset)
            } catch {
                refuse(connection, Problem(error))
                return bytes.byteCount
            }
            switch progress {
            case .needsMore:
                keepPartialRequest(connection)
            case .continueExpected:
                // The body is yet to come: nothing of it was in this input.
                out.append(contentsOf: ResponseEncoder.continueResponse)
                keepPartialRequest(connection)
            case .complete:
                requests += 1
                exchanges[slot].requestBegan = nil
                counters.requests += 1
                serve(connection)
            }
        }
        guard isCurrent(connection) else { return bytes.byteCount }
        if let owner = departure {
            departure = nil
            depart(connection, to: owner, with: bytes.extracting(offset..<bytes.byteCount))
            return bytes.byteCount
        }
        flushOut(connection)
        guard offset < bytes.byteCount, isCurrent(connection) else { return bytes.byteCount }
        if exchanges[slot].isReading, !exchanges[slot].hasUnsent {
            let isHeavy = answered - answeredBefore >= Self.turnBytes
            postponed.append(connection, isHeavy ? .heavy : .light)
        }
        return offset
    }

    /// Whether the bytes begin with a whole request for `/livez` or `/readyz`, in a kilobyte: it is
    /// answered however much else there is to do, for that is what it asks about.
    func beginsWithProbe(_ exchange: Exchange, _ bytes: RawSpan) -> Bool {
        guard exchange.reader.isBetweenRequests, exchange.work == nil else { return false }
        var (reader, head, body, offset) = (exchange.reader, RequestHead(), [UInt8](), 0)
        let beginning = bytes.extracting(0..<min(bytes.byteCount, 1_024))
        do throws(RequestRefusal) {
            guard try reader.next(beginning, at: &offset, head: &head, body: &body) == .complete
            else { return false }
        } catch {
            // It is refused when its turn comes.
            return false
        }
        switch service.router.match(head.method, head.bytes, head.path) {
        case .operation(.livez, _), .operation(.readyz, _): return true
        default: return false
        }
    }

    /// Reads into `head` and `body`.
    private func nextRequest(
        _ exchange: Exchange, _ bytes: RawSpan, at offset: inout Int
    ) throws(RequestRefusal) -> RequestReader.Progress {
        // Taken out and put back: a long access to a property has each short one, and there are
        // many, watched by the runtime.
        var (reader, head, body) = (exchange.reader, RequestHead(), [UInt8]())
        swap(&head, &self.head)
        swap(&body, &self.body)
        defer {
            exchange.reader = reader
            self.head = head
            self.body = body
        }
        return try reader.next(bytes, at: &offset, head: &head, body: &body)
    }

    /// Continues with what a connection sent while its answer was due or its output budget was used
    /// up, then with the socket. A peer that has finished is answered to its last request, and only
    /// then closed; so is, while draining, every peer.
    func readOn(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), exchanges[slot].isReading, !exchanges[slot].hasUnsent
        else { return }
        if let work = exchanges[slot].work, !work.pending.isEmpty {
            let pending = work.pending
            work.pending = []
            // Safe: bytes have no padding, which is why a span's raw bytes are marked.
            let consumed = unsafe read(
                connection, pending.span.bytes, requests: Self.turnRequests)
            if consumed < pending.count { keepPending(connection, pending.dropFirst(consumed)) }
        }
        guard isCurrent(connection), exchanges[slot].isReading, !exchanges[slot].hasUnsent,
            exchanges[slot].work?.pending.isEmpty ?? true
        else { return }
        if exchanges[slot].peerIsFinished { return close(connection, .now) }
        if service.isDraining, exchanges[slot].reader.isBetweenRequests {
            return close(connection, .lingering)
        }
        connections.resumeReading(connection)
        dropIdleWork(slot)
    }

    /// Keeps bytes that can't be read yet. Reading pauses: what follows stays in the kernel, so
    /// a client that does not wait for answers holds one read buffer here at the most.
    func hold(_ connection: ConnectionID, _ bytes: RawSpan, from offset: Int) {
        var rest: [UInt8] = []
        rest.append(copying: bytes.extracting(offset..<bytes.byteCount))
        keepPending(connection, rest[...])
    }

    private func keepPending(_ connection: ConnectionID, _ rest: ArraySlice<UInt8>) {
        let slot = Int(connection.slot)
        guard isCurrent(connection) else { return }
        switch exchanges[slot].phase {
        case .reading, .answering: break
        case .streaming, .closing, .vacant: return
        }
        let work = work(slot)
        if work.pending.isEmpty { work.pending = rest } else { work.pending += rest }
        connections.pauseReading(connection)
    }

    func work(_ slot: Int) -> Exchange.Work {
        if let work = exchanges[slot].work { return work }
        let work = Exchange.Work()
        exchanges[slot].work = work
        return work
    }

    /// Invariant: a connection whose reading is paused keeps its work, so that the call which ends
    /// its wait finds it; call this for other connections.
    func dropIdleWork(_ slot: Int) {
        if let work = exchanges[slot].work, work.isIdle { exchanges[slot].work = nil }
    }

    /// A request that came in part goes on where it stopped.
    private func takePartialRequest(_ slot: Int) {
        guard let work = exchanges[slot].work, work.hasPartialRequest else { return }
        takeBack(work)
        work.hasPartialRequest = false
    }

    /// Keeps what came of the request until more comes; refuses it when all bodies together take
    /// too much memory.
    private func keepPartialRequest(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard !exchanges[slot].reader.isBetweenRequests else { return }
        let work = work(slot)
        guard putAside(in: work) else {
            guard exchanges[slot].reader.isReadingHead else {
                return refuse(connection, .tooManyBodies)
            }
            // It may ask for a stream, which gets no 5xx: it gets no answer.
            exchanges[slot].phase = .closing
            return flushOut(connection)
        }
        work.hasPartialRequest = true
        if exchanges[slot].requestBegan == nil {
            exchanges[slot].requestBegan = connections.now
            rearm(connection)
        }
    }

    /// Moves `head` and `body` into the connection's own memory. False, and nothing is moved, if
    /// the budget of all bodies has no room for it.
    func putAside(in work: Exchange.Work) -> Bool {
        // A small body is not to keep what a large one needed before it.
        if body.capacity > 2 * body.count + 4_096 { body = Array(body) }
        let bytes = head.bytes.count + (body.isEmpty ? 0 : body.capacity)
        guard service.bodies.charge(bytes) else { return false }
        work.chargedBytes = bytes
        swap(&work.head, &head)
        swap(&work.body, &body)
        return true
    }

    /// Moves them back.
    func takeBack(_ work: Exchange.Work) {
        swap(&work.head, &head)
        swap(&work.body, &body)
        giveBackCharge(of: work)
    }

    func giveBackCharge(of work: Exchange.Work) {
        guard work.chargedBytes > 0 else { return }
        service.bodies.giveBack(work.chargedBytes)
        free(work.chargedBytes)
        work.chargedBytes = 0
    }

    /// A whole request: finds the operation and carries it out, here or on the session's loop.
    func serve(_ connection: ConnectionID) {
        // Once, for each look at the property would copy all of it.
        let head = head
        let match = service.router.match(head.method, head.bytes, head.path)
        let operation: Operation? =
            if case .operation(let operation, _) = match { operation } else { nil }
        let asked = Exchange.Asked(
            operation: operation, isHead: head.method == .head,
            closes: !head.keepsAlive || service.isDraining, minorVersion: head.minorVersion,
            since: connections.now)
        exchanges[Int(connection.slot)].phase = .answering(asked, nil)
        switch match {
        case .operation(.publishTopic, let segment?):
            answer(connection) { () throws(Problem) in try self.publish(segment, connection) }
        case .operation(let operation, let segment?):
            serve(operation, segment, connection)
        case .operation(let operation, nil):
            answer(connection) { () throws(Problem) in try self.carryOut(operation, connection) }
        case .methods(let methods):
            answerMethods(methods, connection)
        case .nothing where head.method == .options && head.matches(head.path, "*"):
            answer(connection, 204, [], [])
        case .nothing:
            answer(connection, Problem(404, "unknown_path", "there is nothing at this path"))
        }
    }

    private func serve(
        _ operation: Operation, _ segment: Range<Int>, _ connection: ConnectionID
    ) {
        answer(connection) { () throws(Problem) in
            let id = try self.sessionID(segment)
            let owner = id.owner(of: self.peers.count)
            guard owner == self.index else {
                self.departure = owner
                return
            }
            try self.carryOut(operation, on: id, connection)
        }
    }

    /// Notes what few requests ask for.
    func wish(_ connection: ConnectionID, _ note: (Exchange.Wishes) -> Void) {
        let slot = Int(connection.slot)
        guard case .answering(let asked, let wishes) = exchanges[slot].phase else { return }
        let noted = wishes ?? Exchange.Wishes()
        note(noted)
        if wishes == nil { exchanges[slot].phase = .answering(asked, noted) }
    }

    private func sessionID(_ segment: Range<Int>) throws(Problem) -> SessionID {
        if let id = SessionID(head.bytes, segment) { return id }
        // Escapes are allowed, though an id never needs one.
        let text: String
        do {
            text = try PercentEncoding.decoded(head.bytes, segment)
        } catch {
            throw Problem(error)
        }
        guard let id = SessionID(text) else {
            throw Problem(
                400, "bad_session_id", "a session id is 1 to 128 of A-Z a-z 0-9 _ - (in the path)")
        }
        return id
    }

    /// Takes the connection, with the request it has just sent and whatever came after it, to
    /// the loop that owns the session, as soon as the answers before it are out. A connection
    /// lives where its session does.
    private func depart(_ connection: ConnectionID, to owner: Int, with rest: RawSpan) {
        let slot = Int(connection.slot)
        flushOut(connection)
        guard isCurrent(connection) else { return }
        guard !exchanges[slot].hasUnsent else {
            let work = work(slot)
            guard putAside(in: work) else {
                answer(connection, .tooManyBodies)
                flushOut(connection)
                return hold(connection, rest, from: 0)
            }
            work.isParked = true
            work.destination = owner
            return hold(connection, rest, from: 0)
        }
        var bytes: [UInt8] = []
        bytes.append(copying: rest)
        move(connection, to: owner, with: bytes[...])
    }

    /// All answers are out: a connection that waited for that moves to another loop.
    func departIfParked(_ connection: ConnectionID) {
        guard let work = exchanges[Int(connection.slot)].work, let owner = work.destination
        else { return }
        takeBack(work)
        move(connection, to: owner, with: work.pending)
    }

    /// Hands the connection over with the request that is in `head` and `body`. One that can't be
    /// handed over, for want of a descriptor or memory, is closed: nothing of the request happened.
    private func move(_ connection: ConnectionID, to owner: Int, with rest: ArraySlice<UInt8>) {
        let slot = Int(connection.slot)
        guard case .answering(let asked, _) = exchanges[slot].phase else { return }
        let luggage = Luggage(
            asked: asked, reader: exchanges[slot].reader, head: head, body: body, rest: rest,
            peerIsFinished: exchanges[slot].peerIsFinished)
        head = RequestHead()
        body = []
        guard let socket = connections.detach(connection) else {
            return close(connection, .lingering)
        }
        service.drain.departed()
        release(slot)
        peers.adopt(socket, on: owner, luggage, service.drain)
    }

    /// A connection has come from another loop, with a request for a session of this one.
    func arrive(_ connection: ConnectionID, _ luggage: Luggage) {
        occupy(connection)
        service.drain.arrived(index)
        let slot = Int(connection.slot)
        exchanges[slot].reader = luggage.reader
        exchanges[slot].phase = .answering(luggage.asked, nil)
        exchanges[slot].peerIsFinished = luggage.peerIsFinished
        head = luggage.head
        body = luggage.body
        out.removeAll(keepingCapacity: true)
        readingConnection = connection
        defer { readingConnection = nil }
        answer(connection) { () throws(Problem) in
            guard
                case .operation(let operation, let segment?) = self.service.router.match(
                    self.head.method, self.head.bytes, self.head.path)
            else { preconditionFailure("only requests for a session change loops") }
            try self.carryOut(operation, on: try self.sessionID(segment), connection)
        }
        flushOut(connection)
        guard isCurrent(connection) else { return }
        if !luggage.rest.isEmpty { keepPending(connection, luggage.rest) }
        if exchanges[slot].isReading, exchanges[slot].work != nil || luggage.peerIsFinished {
            resumable.append(connection)
        }
        rearm(connection)
    }
}

/// What a connection takes along to another loop.
struct Luggage: Sendable {
    var asked: Exchange.Asked
    var reader: RequestReader
    var head: RequestHead
    var body: [UInt8]
    /// What came after the request.
    var rest: ArraySlice<UInt8> = []
    var peerIsFinished: Bool
}
