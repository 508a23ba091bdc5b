import ArgumentParser

/// A subcommand that measures once and reports.
protocol Measurement: ParsableCommand {
    var target: TargetOptions { get }

    /// Measures; throws only if there is no measurement.
    func measure() throws -> Report
}

extension Measurement {
    /// Prints the report; the exit status is 1 if the report has faults.
    func run() throws {
        let report = try measure()
        print(target.json ? report.json : report.table)
        guard report.problems.isEmpty else { throw ExitCode.failure }
    }
}
