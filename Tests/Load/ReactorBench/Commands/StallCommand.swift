import ArgumentParser

/// Stall: readers that do not read must not slow down the others or cost the server memory.
struct StallCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "stall",
        abstract: "The same fan-out without and with readers that never read, side by side.")

    @OptionGroup var target: TargetOptions
    @OptionGroup var fanout: FanoutOptions

    @Option(help: "Readers that never read, beside the --subscribers that do.")
    var stalled = 100

    @Option(help: "How often to measure each, in turn; the medians are compared.")
    var rounds = 1

    func validate() throws {
        try Bounds.check("--stalled", stalled, 1...1_000_000)
        try Bounds.check("--rounds", rounds, 1...100)
    }

    func measure() throws -> Report {
        #if os(Linux)
            return try StallRun(self).report()
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
