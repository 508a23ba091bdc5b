import ArgumentParser

/// The server, and the run's name and report: common to all measurements.
struct TargetOptions: ParsableArguments {
    @Option(help: "The server: http://host:port[/prefix].")
    var url = "http://127.0.0.1:8080"

    @Option(help: "Whose paths and bodies to use where no option names others.")
    var preset = Preset.reactor

    @Option(
        name: .customLong("header"), parsing: .singleValue,
        help: "A field to send with every request, 'Name: value'. Repeatable.")
    var headers: [String] = []

    @Option(
        parsing: .singleValue,
        help: """
            A request to send once for each session first, 'METHOD /path [body]'. Repeatable; \
            'none' sends nothing. The default is the preset's.
            """)
    var setup: [String] = []

    @Option(help: "The name that {session} begins with; random unless given.")
    var runName: String?

    @Option(
        name: .customLong("pid"), parsing: .singleValue,
        help: "A process of the server's, to be measured with its descendants. Repeatable.")
    var pids: [Int] = []

    @Flag(
        help: """
            Ask the kernel again and again instead of sleeping: takes a whole processor, and keeps \
            the tool's own waking up out of the latencies.
            """)
    var busyPoll = false

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Option(help: "How long connecting, setting up and the last deliveries may take each.")
    var timeout = TimeSpan(seconds: 60)

    func validate() throws {
        guard Endpoint(url) != nil else {
            throw ValidationError("--url \(url): expected http://host:port[/prefix]")
        }
        for header in headers where !Self.isField(header) {
            throw ValidationError("--header '\(header)': expected 'Name: value'")
        }
        for line in setup where line != "none" && RequestLine(line) == nil {
            throw ValidationError("--setup '\(line)': expected 'METHOD /path [body]'")
        }
        for pid in pids where pid <= 0 {
            throw ValidationError("--pid \(pid): expected a process id")
        }
    }

    /// Validates that a field line cannot end the head that contains it.
    private static func isField(_ line: String) -> Bool {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return false }
        return !line.utf8.contains { $0 == 0x0D || $0 == 0x0A }
    }

    /// The set-up requests that apply.
    var setupLines: [RequestLine] {
        let lines = setup.isEmpty ? preset.setup : setup.filter { $0 != "none" }
        return lines.compactMap { RequestLine($0) }
    }

    /// The run's name: eight random characters, so that no earlier run had the same.
    func resolvedRunName() -> String {
        if let runName { return runName }
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count)] })
    }
}
