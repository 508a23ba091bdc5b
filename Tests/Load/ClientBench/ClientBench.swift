import ArgumentParser
import ReactorClient

/// Measures the Swift client against a server on this machine, beside bare libcurl.
@main
struct ClientBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-bench",
        abstract:
            "What ReactorClient costs: sends beside bare libcurl, actions and events a second, memory.",
        discussion: """
            Start a server with the sample reactors first. Sessions get ids of their own; delete the \
            journal afterwards. The exit status is 1 if an action or event was lost or doubled. With \
            --journal memory a session takes 10 000 requests with keys a day: --sends must be less.
            """)

    @Option(help: "The server's address.")
    var url = "http://127.0.0.1:8080"

    @Option(help: "Sends one after the other, for their latency.")
    var sends = 2_000

    @Option(help: "Actions that are submitted at once, for the rate.")
    var actions = 100_000

    @Option(help: "Events that another client posts, for the rate at which this one takes them.")
    var events = 100_000

    @Option(help: "Sessions that are followed, for the memory.")
    var sessions = 1_000

    @Option(help: "Which measurements, separated by commas: memory, sends, actions, events.")
    var only: String = "memory,sends,actions,events"

    func validate() throws {
        for (name, value) in [
            ("--sends", sends), ("--actions", actions), ("--events", events),
            ("--sessions", sessions),
        ] where !(1...1_000_000).contains(value) {
            throw ValidationError("\(name) \(value): expected 1 to 1000000")
        }
        for part in parts where !["memory", "sends", "actions", "events"].contains(part) {
            throw ValidationError("--only \(part): expected memory, sends, actions or events")
        }
    }

    private var parts: [Substring] { only.split(separator: ",") }

    func run() async throws {
        var bench = try Measurements(url)
        // This comes first: memory that the other measurements leave behind would hide it.
        if parts.contains("memory") { try await bench.memory(sessions) }
        if parts.contains("sends") { try await bench.latency(sends) }
        if parts.contains("actions") {
            try await bench.rate(actions, on: 1)
            try await bench.rate(actions, on: 64)
        }
        if parts.contains("events") { try await bench.events(events) }
        await bench.client.close()
        guard bench.faults.isEmpty else {
            for fault in bench.faults { print("PROBLEM: \(fault)") }
            throw ExitCode.failure
        }
    }
}
