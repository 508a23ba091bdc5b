import ArgumentParser

/// Idle: the cost of sessions and subscribers that do nothing.
struct IdleCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Memory per idle session (--streams) and per idle subscriber, by --pid.")

    @OptionGroup var target: TargetOptions
    @OptionGroup var streams: StreamOptions

    @Option(help: "How long to leave things idle before memory is measured.")
    var settle = TimeSpan(seconds: 1)

    func validate() throws {
        if target.pids.isEmpty {
            throw ValidationError("--pid: idle measures memory, so it must know whose")
        }
    }

    func measure() throws -> Report {
        #if os(Linux)
            return try RampRun(
                target: Target(target), streams: streams, settle: settle, isPerSession: true
            ).report()
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
