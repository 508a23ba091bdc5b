internal import Storage
internal import Wire

/// The responses of one loop, by route and status, and their times by route.
///
/// Design: flat arrays with a place for each combination, so that recording hashes nothing. Both
/// labels are bounded: by the route table, and by the statuses that the service has.
struct ResponseCounts: Sendable {
    /// The statuses with a count of their own; all others share one, with the label `other`.
    static let statuses = StatusLine.reasons.map(\.status)
    /// The index in ``statuses``, by the status less 100; their number for any other.
    private let indices: [UInt8]
    /// The number of counts of a route.
    private let width = statuses.count + 1
    private var counts: [UInt64]
    private var times: [TimeHistogram]

    init() {
        var indices = [UInt8](repeating: UInt8(Self.statuses.count), count: 500)
        for (index, status) in Self.statuses.enumerated() { indices[status - 100] = UInt8(index) }
        self.indices = indices
        // The last row is for requests without a route.
        let routes = Route.table.count + 1
        counts = Array(repeating: 0, count: routes * width)
        times = Array(repeating: TimeHistogram(), count: routes)
    }

    /// - Parameters:
    ///   - route: Nil if no row of the table matches, and for bytes that are not a request.
    ///   - nanoseconds: From the complete request to the response; for a stream to its head.
    mutating func record(_ route: Route?, _ status: Int, nanoseconds: Int64) {
        let row = route?.index ?? times.count - 1
        let offset = status &- 100
        let column = offset >= 0 && offset < indices.count ? Int(indices[offset]) : width - 1
        counts[row * width + column] += 1
        times[row].record(nanoseconds: nanoseconds)
    }

    mutating func add(_ other: ResponseCounts) {
        for index in counts.indices { counts[index] += other.counts[index] }
        for index in times.indices { times[index].add(other.times[index]) }
    }

    /// Writes those that are not 0: most combinations never occur.
    func write(to text: inout PrometheusWriter) {
        text.begin("responses_total", "counter", "Responses; a stream is one.")
        for row in times.indices {
            for column in 0..<width where counts[row * width + column] > 0 {
                let status =
                    column < Self.statuses.count ? "\(Self.statuses[column])" : "other"
                text.sample(
                    "responses_total", [("route", Self.name(row)), ("status", status)],
                    counts[row * width + column])
            }
        }
        text.begin(
            "response_seconds", "histogram",
            "From a complete request to its response, or to the head of its stream.")
        for row in times.indices where times[row].count > 0 {
            text.samples("response_seconds", [("route", Self.name(row))], times[row])
        }
    }

    private static func name(_ row: Int) -> String {
        row < Route.table.count ? Route.table[row].operationID : "none"
    }
}
