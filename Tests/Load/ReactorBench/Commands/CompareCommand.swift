import ArgumentParser

/// Compare: several measurements alternate (A B A B …), so that noise affects all of them.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Runs several measurements in turn and prints medians and ratios to the first.",
        discussion: """
            Each --run is a name, a colon, and a measurement as on the command line:
              compare --rounds 3 \\
                --run 'ours: fanout --url http://127.0.0.1:8080 --pid 10' \\
                --run 'nchan: fanout --preset nchan --url http://127.0.0.1:8081 --pid 11'
            """)

    @Option(
        name: .customLong("run"), parsing: .singleValue,
        help: "'name: subcommand options…'. Repeatable; ratios are to the first.")
    var runs: [String]

    @Option(help: "How often to make each run.")
    var rounds = 3

    @Flag(help: "Print the comparison as JSON.")
    var json = false

    func validate() throws {
        try Bounds.check("--rounds", rounds, 1...1000)
        if runs.count < 2 { throw ValidationError("--run: a comparison needs two at least") }
        for run in runs { _ = try Self.parse(run) }
    }

    func run() throws {
        let measurements = try runs.map { try Self.parse($0) }
        var comparison = Comparison(names: measurements.map(\.name))
        for _ in 0..<rounds {
            for (index, measurement) in measurements.enumerated() {
                comparison.add(try measurement.command.measure(), of: index)
            }
        }
        print(json ? comparison.json : comparison.table)
        guard comparison.problems.isEmpty else { throw ExitCode.failure }
    }

    /// Parses one `--run`.
    static func parse(_ text: String) throws -> (name: String, command: any Measurement) {
        guard let colon = text.firstIndex(of: ":") else {
            throw ValidationError("--run '\(text)': expected 'name: subcommand options…'")
        }
        let name = String(text[..<colon])
        guard let words = ShellWords.split(String(text[text.index(after: colon)...])) else {
            throw ValidationError("--run '\(name)': a quote is not closed")
        }
        do {
            let parsed = try ReactorBench.parseAsRoot(words)
            guard let command = parsed as? any Measurement else {
                throw ValidationError("--run '\(name)': not a measurement")
            }
            return (name, command)
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("--run '\(name)': \(ReactorBench.message(for: error))")
        }
    }
}
