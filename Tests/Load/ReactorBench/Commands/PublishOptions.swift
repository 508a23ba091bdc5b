import ArgumentParser

/// The publishers: their number, actions, duration and rate.
struct PublishOptions: ParsableArguments {
    @Option(help: "Publishers, each a closed loop; each goes round all streams.")
    var publishers = 4

    @Option(help: "How long to publish.")
    var duration = TimeSpan(seconds: 5)

    @Option(help: "Events to send at most, by --publishers together, for each of them.")
    var events: Int?

    @Option(help: "How long to publish before measuring begins (default: 1s; 0 with --events).")
    var warmUp: TimeSpan?

    @Option(help: "Actions a second over all publishers (an open loop) instead of a closed one.")
    var rate: Double?

    @Option(help: "Where to publish; {session} {stream} {index} {mark} {run} are filled in.")
    var publishPath: String?

    @Option(help: "The method to publish with.")
    var publishMethod = "POST"

    @Option(help: "The body to publish; {mark} is what subscribers recognise an event by.")
    var body: String?

    @Flag(inversion: .prefixedNo, help: "Whether events carry {mark}s to check.")
    var marks = true

    /// The warm-up that applies: by default 1 s, or none if the number of events is fixed.
    var resolvedWarmUp: TimeSpan { warmUp ?? TimeSpan(seconds: events == nil ? 1 : 0) }

    func validate() throws {
        try Bounds.check("--publishers", publishers, 1...Mark.publisherLimit)
        if let events { try Bounds.check("--events", events, 1...Int(Int32.max)) }
        if let rate, !(rate > 0 && rate <= 10_000_000) {
            throw ValidationError("--rate \(rate): expected more than 0 and at most 10000000")
        }
        if marks, let body, !body.contains("{mark}") {
            throw ValidationError("--body carries no {mark}: add it, or give --no-marks")
        }
    }
}
