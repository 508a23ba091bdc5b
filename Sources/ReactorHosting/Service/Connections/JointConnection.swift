internal import Sessions
internal import Sockets
internal import Wire

/// The connection of a stream of several sessions. It stays on the loop that has accepted it.
final class JointConnection: JointStreamOutput {
    private unowned let connection: HTTPConnection
    private let number: UInt64
    let isChunked: Bool
    private(set) lazy var stream = JointStream(
        request, number: number, loop: connection.loop.index, loops: connection.loop.peers.count,
        output: self, work: connection.loop.service.work)
    private let request: JointStream.Request

    init(_ connection: HTTPConnection, _ request: JointStream.Request, isChunked: Bool) {
        self.connection = connection
        self.request = request
        self.isChunked = isChunked
        number = connection.loop.joints.nextNumber()
    }

    func open() {
        connection.loop.joints.insert(self, number)
        stream.open()
    }

    /// The response has ended, or has not begun.
    func cancel() {
        connection.loop.joints.remove(number)
        stream.cancel()
    }

    // MARK: JointStreamOutput

    func begin() { EventStream.begin(self, on: connection) }

    func refuse(_ pulse: String) {
        cancel()
        connection.respondLater { () throws(Problem) in
            throw Problem(
                404, "unknown_pulse", "none of the sessions' reactors has a pulse \(pulse)")
        }
    }

    func wrap(_ bytes: inout [UInt8]) {
        // RFC 9112 §6.1: chunks only in response to HTTP/1.1.
        if isChunked { ChunkEncoder.wrap(from: 0, in: &bytes) }
    }

    func write(_ bytes: Span<UInt8>) -> Int { connection.writeEvents(bytes) }

    func end() { connection.stream?.finish() }

    func cut() { connection.close(.lingering) }

    func count(_ problem: String) { connection.loop.counters.refusals.count(problem) }

    func send(_ requests: [RelayRequest], to loop: Int) {
        // A loop that has stopped has no sessions.
        connection.loop.peers.enqueue(on: loop) { $0.receive(requests) }
    }
}

/// The streams of several sessions of one loop, by their numbers.
final class JointConnections {
    private var all: [UInt64: JointConnection] = [:]
    private var last: UInt64 = 0

    func nextNumber() -> UInt64 {
        last += 1
        return last
    }

    func insert(_ joint: JointConnection, _ number: UInt64) { all[number] = joint }

    func remove(_ number: UInt64) { all[number] = nil }

    /// Passes reports to their streams. Each stream writes once.
    func receive(_ reports: [RelayReport]) {
        var changed: [JointConnection] = []
        for report in reports {
            // It may have ended.
            guard let joint = all[report.key.stream] else { continue }
            joint.stream.receive(report)
            if changed.last !== joint { changed.append(joint) }
        }
        for joint in changed { joint.stream.write() }
    }
}
