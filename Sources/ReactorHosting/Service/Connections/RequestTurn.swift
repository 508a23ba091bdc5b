internal import Wire

enum RequestTurn {
    /// Parses requests from `bytes` until one has to wait for its response, or the connection's
    /// output budget is used up. In the second case another turn follows when the kernel has
    /// accepted the responses.
    ///
    /// - Parameter limit: The maximum number of requests in this turn.
    /// - Returns: The number of consumed bytes; the caller keeps the rest.
    static func run(on connection: HTTPConnection, _ bytes: RawSpan, requests limit: Int) -> Int {
        let (turn, loop) = (connection.id, connection.loop)
        var (offset, requests) = (0, 0)
        connection.beginTurn()
        var request = connection.buffers?.remove(.partial, loop) ?? loop.pool.borrowRequest()
        var owner: Int?
        while offset < bytes.byteCount, connection.id == turn, connection.isReading,
            requests < limit, connection.output.hasRoom
        {
            do throws(RequestRefusal) {
                switch try next(&request, bytes, at: &offset, on: connection) {
                case .needsMore:
                    if admitsHead(of: &request, on: connection) {
                        keepPartial(&request, on: connection)
                    }
                case .continueExpected:
                    // No part of the body was in this input.
                    if admitsHead(of: &request, on: connection) {
                        connection.output.encoded.append(
                            contentsOf: ResponseEncoder.continueResponse)
                        keepPartial(&request, on: connection)
                    }
                case .complete:
                    requests += 1
                    connection.requestBegan = nil
                    // A request whose head was admitted before its body came is counted already.
                    if !connection.hasAdmittedHead { loop.counters.requests += 1 }
                    if requests > 1 { loop.schedule.countPipelined() }
                    owner = RequestDispatcher.serve(&request, on: connection)
                }
            } catch {
                connection.refuse(Problem(error))
                offset = bytes.byteCount
            }
        }
        connection.endTurn()
        if let owner, connection.id == turn {
            ConnectionMigration.begin(
                connection, with: &request, to: owner,
                rest: bytes.extracting(offset..<bytes.byteCount))
            offset = bytes.byteCount
        }
        loop.pool.recycle(&request)
        guard offset < bytes.byteCount, connection.id == turn else { return bytes.byteCount }
        if connection.isReading, connection.output.hasRoom {
            loop.schedule.postpone(turn, .heavy)
        }
        return offset
    }

    private static func next(
        _ request: inout Request, _ bytes: RawSpan, at offset: inout Int,
        on connection: HTTPConnection
    ) throws(RequestRefusal) -> RequestReader.Progress {
        // Moved out and back: during a long access, the runtime would check each of the short ones.
        var reader = connection.reader
        defer { connection.reader = reader }
        return try reader.next(
            bytes, at: &offset, head: &request.head, body: &request.body,
            repeated: &connection.repeatedHead)
    }

    /// Whether the rest of an incomplete request may follow.
    private static func admitsHead(
        of request: inout Request, on connection: HTTPConnection
    ) -> Bool {
        guard connection.reader.isReadingBody, !connection.hasAdmittedHead else { return true }
        return RequestDispatcher.admitHead(of: &request, on: connection)
    }

    /// Keeps the received part of a request; refuses it if all bodies take too much memory.
    static func keepPartial(_ request: inout Request, on connection: HTTPConnection) {
        let loop = connection.loop
        guard !connection.reader.isBetweenRequests else { return }
        guard connection.keep(&request, as: .partial) else {
            guard connection.reader.isReadingHead else { return connection.refuse(.tooManyBodies) }
            // It may be a request for a stream, which gets no 5xx: it gets no response.
            connection.state = .closing
            return
        }
        guard connection.requestBegan == nil else { return }
        connection.requestBegan = loop.now
        connection.buffers?.beginBodyPeriod(isFirst: true)
        connection.rearm()
    }
}
