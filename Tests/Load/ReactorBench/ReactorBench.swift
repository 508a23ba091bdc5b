import ArgumentParser

/// Drives this server, or any other server with HTTP/1.1 and Server-Sent Events, and checks every
/// response and event that it counts.
@main
struct ReactorBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reactor-bench",
        abstract: "Load and fan-out generator for reactor-server and any other SSE server.",
        discussion: """
            Every measurement prints a table, or JSON with --json, and exits with status 1 when \
            what it received was not what was sent: each event once, in order, to everybody.
            """,
        subcommands: [
            RequestsCommand.self, FanoutCommand.self, RampCommand.self, IdleCommand.self,
            StallCommand.self, MixedCommand.self, TokensCommand.self, CompareCommand.self,
            InProcessCommand.self, TortureCommand.self, StormCommand.self, ClusterCommand.self,
        ])
}
