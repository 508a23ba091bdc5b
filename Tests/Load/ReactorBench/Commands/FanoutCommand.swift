import ArgumentParser

/// Fan-out: every posted event must reach every subscriber, once and in order.
struct FanoutCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Publishers post, subscribers receive: deliveries a second, latency, CPU each.")

    @OptionGroup var target: TargetOptions
    @OptionGroup var fanout: FanoutOptions

    func measure() throws -> Report {
        #if os(Linux)
            let result = try FanoutRun(target: Target(target), options: fanout).result()
            return result.report
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
