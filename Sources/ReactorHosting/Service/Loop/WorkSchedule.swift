internal import Sockets

/// The connections of a loop that have requests left to serve, and the work of the present round.
///
/// Design: work is measured in bytes of response bodies that were encoded, sent or not (HEAD, 304),
/// and of large request bodies. ``ConnectionOutput/hasRoom`` bounds those of one connection. A
/// pipelined request counts for its time: a client that sends many at once must not delay others.
final class WorkSchedule {
    /// The maximum number of requests that are served in one turn of a connection.
    static let turnRequests = 16
    /// Bytes of responses and of large bodies that a round makes; further requests wait for the
    /// next one. Some milliseconds of work.
    private static let roundBytes = 1 << 20
    /// The work of a request that was sent before the response to the one before: a round has 64 of
    /// them, which take a third of a millisecond.
    static let pipelinedBytes = 16 << 10
    private static let postponedInARound = 16

    /// Connections with more requests whose response was sent.
    private(set) var resumable: [ConnectionID] = []
    private var postponed = TurnQueue<ConnectionID>()
    /// Bytes of responses and of large bodies so far.
    private var madeBytes = 0
    private var madeBytesBefore = 0

    var isRoundUsedUp: Bool { madeBytes - madeBytesBefore >= Self.roundBytes }

    /// The number of connections that wait for a turn.
    var postponedCount: Int { postponed.count(.light) + postponed.count(.heavy) }

    var isEmpty: Bool { resumable.isEmpty && postponed.isEmpty }

    func count(_ bytes: Int) { madeBytes += bytes }

    /// Counts a request that was sent before the response to the one before.
    func countPipelined() { madeBytes += Self.pipelinedBytes }

    /// Serves the connection again in this round.
    func resume(_ connection: ConnectionID) { resumable.append(connection) }

    /// Serves the connection again in a later round.
    func postpone(_ connection: ConnectionID, _ weight: TurnQueue<ConnectionID>.Weight) {
        postponed.append(connection, weight)
    }

    func endRound() { madeBytesBefore = madeBytes }

    /// Serves each resumable connection once, or as many as the round's budget allows.
    func serveResumable(_ serve: (ConnectionID) -> Void) {
        let turn = resumable
        resumable.removeAll(keepingCapacity: true)
        for (index, connection) in turn.enumerated() {
            guard index == 0 || !isRoundUsedUp else {
                resumable.insert(contentsOf: turn[index...], at: 0)
                return
            }
            countPipelined()
            serve(connection)
        }
    }

    /// Serves some postponed connections: 16, and at least one of each weight. The heavy ones have
    /// what is left of the round's budget; the light ones have one of their own.
    func servePostponed(_ serve: (ConnectionID) -> Void) {
        guard !postponed.isEmpty else { return }
        let begin = madeBytes
        var served = 0
        for weight in TurnQueue<ConnectionID>.Weight.allCases {
            // Connections that are postponed meanwhile wait for the next round.
            for turn in 0..<min(postponed.count(weight), Self.postponedInARound) {
                let isUsedUp =
                    switch weight {
                    case .light: madeBytes - begin >= Self.roundBytes
                    case .heavy: isRoundUsedUp
                    }
                guard turn == 0 || (served < Self.postponedInARound && !isUsedUp),
                    let connection = postponed.popFirst(weight)
                else { break }
                if weight == .heavy { countPipelined() }
                serve(connection)
                served += 1
            }
        }
    }
}
