/// The counts of a pool of requesters since it was last reset.
struct RequestTally {
    /// Responses with an expected status.
    var accepted: UInt64 = 0
    /// Responses with any other status.
    var refused: UInt64 = 0
    /// Requests whose connection ended before their response.
    var lost: UInt64 = 0
    /// Connections that were opened again.
    var reconnects: UInt64 = 0
    /// Received bytes that were not valid HTTP.
    var faults: UInt64 = 0
    /// The time from a request's send (in an open loop: from when it was due) to its response.
    var latency = Histogram()
    /// The number of responses with each unexpected status.
    var statuses: [Int: UInt64] = [:]

    /// The faults of the run, a sentence each.
    var problems: [String] {
        var problems: [String] = []
        for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
            problems.append("\(count) responses with status \(status)")
        }
        if lost > 0 { problems.append("\(lost) requests without a response") }
        if faults > 0 { problems.append("\(faults) responses that are no HTTP/1.1") }
        return problems
    }
}
