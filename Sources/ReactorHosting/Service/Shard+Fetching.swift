internal import Sessions
internal import Sockets
internal import Wire

// Requests for sessions that have to come from the journal first.
extension Shard {
    /// Puts the request aside until its session is there.
    func fetch(
        _ id: SessionID, for operation: Operation, _ connection: ConnectionID
    ) throws(Problem) {
        let work = work(Int(connection.slot))
        guard putAside(in: work) else {
            guard wantsStream(operation) else { throw .tooManyBodies }
            return answerStream(connection, with: .tooManyBodies)
        }
        work.isParked = true
        sessions.wake(id) { [unowned self] found in
            goOn(operation, id, found, connection)
        }
    }

    private func goOn(
        _ operation: Operation, _ id: SessionID, _ found: SessionTable.Found,
        _ connection: ConnectionID
    ) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), let work = exchanges[slot].work, work.isParked else { return }
        takeBack(work)
        work.isParked = false
        serveLate(connection) { () throws(Problem) in
            try self.carryOut(operation, on: id, found, connection)
        }
    }

    /// Serves a request that is in `head` and `body` again, or not needed any more.
    func serveLate(_ connection: ConnectionID, _ act: () throws(Problem) -> Void) {
        let slot = Int(connection.slot)
        guard isCurrent(connection) else { return }
        out.removeAll(keepingCapacity: true)
        readingConnection = connection
        answer(connection, act)
        flushOut(connection)
        readingConnection = nil
        if isCurrent(connection), exchanges[slot].work != nil || exchanges[slot].peerIsFinished {
            resumable.append(connection)
        }
        rearm(connection)
    }

    /// `HEAD` of a stream: the head that `GET` has, which names no length (RFC 9110 §8.6). The
    /// connection continues: nothing follows this head.
    func answerStreamHead(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), case .answering(let asked, _) = exchanges[slot].phase
        else { return }
        let closes = asked.closes || service.isDraining
        ResponseEncoder.appendStreamHead(
            status: 200, lines: templates.stream, date: date, isChunked: asked.minorVersion > 0,
            close: closes, to: &out)
        finishAnswer(exchanges[slot], asked, nil, status: 200, closes: closes, code: nil)
    }

    /// A stream that can't begin for a reason that may pass: EventSource gives up for good on any
    /// status but 200, so it gets one, is told, and comes back (contract §3.2).
    func answerStream(_ connection: ConnectionID, with problem: Problem) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), case .answering(let asked, _) = exchanges[slot].phase
        else { return }
        guard !asked.isHead else { return answerStreamHead(connection) }
        let isChunked = asked.minorVersion > 0
        ResponseEncoder.appendStreamHead(
            status: 200, lines: templates.stream, date: date, isChunked: isChunked, to: &out)
        let start = out.count
        EventEncoder.appendRetry(milliseconds: jitteredRetry(), to: &out)
        var data = problem.body
        // The document ends with a line break, which would be a second line of data.
        data.removeLast()
        out.append(contentsOf: "event: problem\ndata: ".utf8)
        out.append(contentsOf: data)
        out.append(contentsOf: "\n\n".utf8)
        if isChunked {
            ChunkEncoder.wrap(from: start, in: &out)
            out.append(contentsOf: ChunkEncoder.last)
        }
        counters.note(status: 200)
        exchanges[slot].phase = .closing
    }
}
