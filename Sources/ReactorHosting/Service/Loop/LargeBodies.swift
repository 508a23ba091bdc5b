internal import JSONCoding
internal import Sessions
internal import Sockets
internal import Wire

/// Examines the large bodies of posted actions beside their loop, one after the other.
///
/// Why: a megabyte of small values takes ten milliseconds to scan, and all other clients of the
/// loop would wait. The thread has a lower priority than the loops and pauses often, so a crowd
/// that posts such bodies gets the time that others leave.
///
/// Design: a waiting request is parked at its connection and counted in the budget of all bodies.
/// If the connection ends, the request has never begun; its place in the queue is skipped. Only one
/// examined body waits for the loop: it may take 28 times its size.
final class LargeBodies {
    /// A larger body is examined beside the loop. The size of a read buffer: up to a millisecond.
    static let minimumBytes = 65_536

    /// In the order in which the bodies were complete. At most one entry for each connection, and
    /// those of connections that have ended since the last examination.
    private var waiting: [ConnectionID] = []
    private var isExamining = false

    var waitingCount: Int { waiting.count + (isExamining ? 1 : 0) }

    /// Parks the request until its body is examined; then the endpoint is called again. Returns the
    /// refusal if the bodies of all requests take too much memory.
    static func examine(_ request: Request, on connection: HTTPConnection) -> Response? {
        let loop = connection.loop
        var request = request
        guard connection.park(&request) else {
            return RequestDispatcher.refusal(.tooManyBodies, of: request)
        }
        loop.largeBodies.waiting.append(connection.id)
        // Later: the connection is in the middle of a turn.
        loop.peers.enqueue(on: loop.index) { $0.examineNextBody() }
        return nil
    }

    fileprivate func next() -> ConnectionID? {
        guard !isExamining, !waiting.isEmpty else { return nil }
        return waiting.removeFirst()
    }

    fileprivate func begin() { isExamining = true }
    fileprivate func end() { isExamining = false }
}

extension ServerLoop {
    fileprivate func examineNextBody() {
        let bodies = resources.largeBodies
        while let id = bodies.next() {
            guard let request = connection(id)?.buffers?.parked else { continue }
            bodies.begin()
            let (bytes, hasKey) = (request.body, request.head.range(of: .idempotencyKey) != nil)
            let (index, peers) = (resources.index, resources.peers)
            LowPriorityThread.run {
                let body = ActionBody(
                    examining: bytes, hasKey: hasKey, pauses: JSONPauses(LowPriorityThread.pause))
                peers.enqueue(on: index) { $0.serve(body, of: id) }
            }
        }
    }

    private func serve(_ body: ActionBody, of id: ConnectionID) {
        resources.largeBodies.end()
        resources.schedule.count(body.bytes.count)
        defer { resources.heap.freed(body.bytes.count + body.scanBytes) }
        if let connection = connection(id),
            var request = connection.buffers?.removeParked(resources),
            case .session(let endpoint)? = request.route?.endpoint, let session = request.sessionID
        {
            request.examined = body
            connection.respondLater { () throws(Problem) in
                try RequestDispatcher.serve(&request, endpoint, for: session, on: connection)
                return nil
            }
        }
        examineNextBody()
    }
}
