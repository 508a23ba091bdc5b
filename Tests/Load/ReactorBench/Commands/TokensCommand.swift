import ArgumentParser

/// Many answers of a model at once: each token must reach its reader once and in order.
struct TokensCommand: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Conversations: a token in each session every --pace, readers that are cut.",
        discussion: """
            Each session streams one answer to one reader. Each reader is cut once in --cut, and \
            resumes with Last-Event-ID. The latency of a token counts from the time at which the \
            model should have it until its reader has it, so it includes the time of the resume. \
            The server is `fixture-server` with FIXTURE_SAMPLES=1, whose reactor `marks` is the \
            sample's conversation with a model that marks its tokens.
            """)

    @OptionGroup var target: TargetOptions

    @Option(help: "Sessions, each with one reader.")
    var sessions = 1_000

    @Option(help: "Tokens of each answer.")
    var tokens = 1_500

    @Option(help: "Time between two tokens of a session.")
    var pace = TimeSpan(seconds: 0.02)

    @Option(help: "Time between two cuts of a reader.")
    var cut = TimeSpan(seconds: 5)

    func validate() throws {
        try Bounds.check("--sessions", sessions, 1...100_000)
        try Bounds.check("--tokens", tokens, 1...4_096)
        guard (0.001...60).contains(pace.seconds) else {
            throw ValidationError("--pace: expected 1ms to 60s")
        }
        guard cut.seconds >= 0.1 else { throw ValidationError("--cut: expected 100ms or more") }
    }

    func measure() throws -> Report {
        #if os(Linux)
            return try TokensRun(self).report()
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
