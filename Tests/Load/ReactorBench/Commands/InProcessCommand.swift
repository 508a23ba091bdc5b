import ArgumentParser

/// In-process: the cost of a reactor without a server around it.
struct InProcessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inprocess",
        abstract: "Actions per second of a reactor in this process, and an append to a long list.")

    @Option(help: "How many actions a round sends.")
    var actions = 1_000_000

    @Option(help: "How many rounds; the best one counts, since others use the machine as well.")
    var rounds = 5

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        guard actions > 0, rounds > 0 else {
            throw ValidationError("--actions and --rounds are at least 1")
        }
    }

    func run() async throws {
        let report = await InProcessRun(actions: actions, rounds: rounds).report()
        print(json ? report.json : report.table)
        guard report.problems.isEmpty else { throw ExitCode.failure }
    }
}
