import ArgumentParser

/// Request load: the number of requests per second, and the latency of each.
struct RequestsCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "Request load over keep-alive connections, in a closed or an open loop.")

    @OptionGroup var target: TargetOptions

    @Option(help: "Keep-alive connections.")
    var connections = 64

    @Option(help: "Requests in flight on each connection.")
    var depth = 1

    @Option(help: "How long to measure.")
    var duration = TimeSpan(seconds: 10)

    @Option(help: "Requests to send at most; the run ends with the first of both bounds.")
    var count: Int?

    @Option(help: "How long to load before measuring begins (default: 1s; 0 with --count).")
    var warmUp: TimeSpan?

    @Option(help: "Requests a second over all connections (an open loop) instead of a closed one.")
    var rate: Double?

    @Option(help: "Sessions; connection i uses session i mod this.")
    var sessions = 1

    @Option(help: "The method.")
    var method = "POST"

    @Option(help: "The path; {i} {n} {session} {index} {run} are filled in.")
    var path: String?

    @Option(help: "The body, with the same placeholders; 'none' for none.")
    var body: String?

    @Option(
        name: .customLong("expect"), parsing: .singleValue,
        help: "A status that counts as success; any 2xx unless given. Repeatable.")
    var expected: [Int] = []

    /// The warm-up that applies: by default 1 s, or none if the number of requests is fixed.
    var resolvedWarmUp: TimeSpan { warmUp ?? TimeSpan(seconds: count == nil ? 1 : 0) }

    func validate() throws {
        try Bounds.check("--connections", connections, 1...20_000)
        try Bounds.check("--depth", depth, 1...1024)
        try Bounds.check("--sessions", sessions, 1...1_000_000)
        if let count { try Bounds.check("--count", count, 1...Int.max) }
        if let rate, !(rate > 0 && rate <= 10_000_000) {
            throw ValidationError("--rate \(rate): expected more than 0 and at most 10000000")
        }
        if rate != nil, depth > 1 {
            throw ValidationError("--rate and --depth exclude each other")
        }
    }

    func measure() throws -> Report {
        #if os(Linux)
            return try RequestRun(self).report()
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
