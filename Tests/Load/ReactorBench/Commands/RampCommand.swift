import ArgumentParser

/// Ramp: how fast subscribers connect, and the cost of each while it waits.
struct RampCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "ramp",
        abstract: "Subscribers connect as fast as they can: time to first bytes, memory each.")

    @OptionGroup var target: TargetOptions
    @OptionGroup var streams: StreamOptions

    @Option(help: "How long to leave the streams idle before memory is measured.")
    var settle = TimeSpan(seconds: 1)

    func measure() throws -> Report {
        #if os(Linux)
            return try RampRun(
                target: Target(target), streams: streams, settle: settle, isPerSession: false
            ).report()
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
