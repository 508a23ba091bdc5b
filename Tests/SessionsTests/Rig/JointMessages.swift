import Sessions

/// The messages between the sessions of a rig and its streams of several sessions, in both
/// directions, until the test delivers them.
final class JointMessages {
    private var toSessions: [[RelayRequest]] = []
    private var toStreams: [[RelayReport]] = []
    private var streams: [UInt64: JointStream] = [:]

    var isEmpty: Bool { toSessions.isEmpty && toStreams.isEmpty }

    func add(_ stream: JointStream, _ number: UInt64) { streams[number] = stream }

    func remove(_ number: UInt64) { streams[number] = nil }

    func send(_ requests: [RelayRequest]) { toSessions.append(requests) }

    /// The sessions send what they have for streams.
    func collect(from table: SessionTable) {
        table.relays.flush { reports, _ in toStreams.append(reports) }
    }

    /// Delivers what is on its way.
    ///
    /// - Returns: whether there was anything.
    func deliver(to table: SessionTable) -> Bool {
        collect(from: table)
        guard !isEmpty else { return false }
        let (requests, reports) = (toSessions, toStreams)
        (toSessions, toStreams) = ([], [])
        for requests in requests { table.relays.receive(requests, in: table) }
        for report in reports.joined() {
            streams[report.key.stream]?.receive(report)
            streams[report.key.stream]?.write()
        }
        return true
    }
}
