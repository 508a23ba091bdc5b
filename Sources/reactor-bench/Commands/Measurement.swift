import ArgumentParser

/// A subcommand that measures once and reports.
protocol Measurement: ParsableCommand {
    var target: TargetOptions { get }

    /// Measures; throws only where no measurement came about.
    func measure() throws -> Report
}

extension Measurement {
    /// Prints the report; the exit status is 1 when something in it is wrong.
    func run() throws {
        let report = try measure()
        print(target.json ? report.json : report.table)
        guard report.problems.isEmpty else { throw ExitCode.failure }
    }
}
