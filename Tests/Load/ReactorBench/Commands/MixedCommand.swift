import ArgumentParser

/// A bounded soak: all loads together, every event checked, memory constant at the end.
struct MixedCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "mixed",
        abstract: "Soak: posts, readers that come and go, stalled readers, malformed requests.",
        discussion: """
            Publishers post at --rate; readers check every event; --churn readers a second are cut \
            and resume with Last-Event-ID; --stalled readers never read; --hostile connections \
            send malformed requests, and --abandon of them a second vanish in between. At the \
            end memory must be flat and, once all have left, no socket more open than before.
            """)

    @OptionGroup var target: TargetOptions
    @OptionGroup var fanout: FanoutOptions

    @Option(help: "Readers that never read, beside the --subscribers that do.")
    var stalled = 20

    @Option(help: "Readers a second that are cut and resume.")
    var churn = 50.0

    @Option(help: "Connections that send malformed requests.")
    var hostile = 4

    @Option(help: "Malformed requests a second.")
    var hostileRate = 100.0

    @Option(help: "Hostile connections a second that vanish in the middle of what they do.")
    var abandon = 5.0

    @Option(help: "How often memory and descriptors are looked at.")
    var sample = TimeSpan(seconds: 2)

    @Option(help: "Per cent by which memory may grow over the last third of the run.")
    var growthLimit = 5.0

    func validate() throws {
        try Bounds.check("--stalled", stalled, 0...1_000_000)
        try Bounds.check("--hostile", hostile, 0...10_000)
        let rates = [
            ("--churn", churn), ("--hostile-rate", hostileRate), ("--abandon", abandon),
            ("--growth-limit", growthLimit),
        ]
        for (name, value) in rates where !(value >= 0 && value <= 100_000) {
            throw ValidationError("\(name) \(value): expected 0 to 100000")
        }
        if sample.nanoseconds < 100_000_000 {
            throw ValidationError("--sample: expected 100ms or more")
        }
    }

    func measure() throws -> Report {
        #if os(Linux)
            return try MixedRun(self, target: Target(target)).report()
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
