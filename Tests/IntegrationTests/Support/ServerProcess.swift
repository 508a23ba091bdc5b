import Foundation
import Glibc

/// A real server process, on a port that the system chose.
///
/// It is killed when nobody holds it any more, and after the test process at the latest
/// (``Watchdog``).
final class ServerProcess: Sendable {
    enum Program: String, Sendable {
        case server = "reactor-server"
        case fixtures = "fixture-server"
        /// No server: it starts servers.
        case bench = "reactor-bench"

        /// Where the test bundle is, the products are.
        var path: String {
            let test =
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            let folder = URL(filePath: test).deletingLastPathComponent()
            return folder.path(percentEncoded: false) + "/" + rawValue
        }
    }

    let log: ProcessLog
    let pid: pid_t
    /// `http://127.0.0.1:8080`, or `unix:/path`.
    let address: String

    /// Starts a server and waits until it says that it is ready.
    ///
    /// - Parameter prelude: shell commands that come first in the same process, such as
    ///   `ulimit -n 100`.
    static func start(
        _ program: Program = .server, _ options: [String] = [],
        environment: [String: String] = [:], prelude: String? = nil
    ) async throws -> ServerProcess {
        let process = try launch(
            program, ["--port", "0"] + options, environment: environment, prelude: prelude)
        try await process.log.wait { $0.output.contains("\n") || $0.exit != nil }
        let line = process.log.present.output.prefix { $0 != "\n" }
        guard line.hasPrefix("reactor-server listening on "), line.contains(" (journal: ")
        else { throw NotStarted(log: process.log.present) }
        let address = String(line.split(separator: " ")[3])
        let server = ServerProcess(process.pid, process.log, address)
        let answer = try await server.client().get("/readyz")
        guard answer.status == 200 else { throw UnexpectedAnswer(response: answer) }
        return server
    }

    /// Runs the program to its end, which must come by itself.
    static func run(
        _ program: Program = .server, _ options: [String], environment: [String: String] = [:],
        prelude: String? = nil
    ) async throws -> ProcessLog.Present {
        let process = try launch(program, options, environment: environment, prelude: prelude)
        // Held, so that a cancelled test leaves no process behind.
        let owner = ServerProcess(process.pid, process.log, "")
        try await owner.log.wait { $0.exit != nil }
        return owner.log.present
    }

    private init(_ pid: pid_t, _ log: ProcessLog, _ address: String) {
        self.pid = pid
        self.log = log
        self.address = address
    }

    deinit {
        if log.present.exit == nil { kill(pid, SIGKILL) }
    }

    /// A new client, with connections of its own.
    func client() -> Client {
        guard address.hasPrefix("unix:") else { return Client(base: address) }
        return Client(base: "http://localhost", unixPath: String(address.dropFirst(5)))
    }

    func signal(_ signal: Int32) {
        kill(pid, signal)
    }

    /// Waits for the end.
    func exit() async throws -> ProcessLog.Exit? {
        try await log.wait { $0.exit != nil }
        return log.present.exit
    }

    /// The host and the port, for a socket of one's own.
    var port: UInt16 { UInt16(address.split(separator: ":").last ?? "") ?? 0 }

    private static func launch(
        _ program: Program, _ options: [String], environment: [String: String],
        prelude: String? = nil
    ) throws -> (pid: pid_t, log: ProcessLog) {
        // What a caller of the tests has set for servers counts for no test but for poller and
        // loops, by which CI runs the suite twice. Two loops at least: connections have to move.
        let kept = ["REACTOR_POLLER", "REACTOR_LOOPS"]
        var variables = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("REACTOR_") || kept.contains($0.key)
        }
        variables["REACTOR_LOOPS"] = variables["REACTOR_LOOPS"] ?? "2"
        variables["REACTOR_JOURNAL"] = journal()
        variables.merge(environment) { $1 }
        let log = ProcessLog()
        let path = program.path
        guard let prelude else {
            return (try ChildProcess.spawn(path, options, variables, log), log)
        }
        let script = "\(prelude); exec \"$0\" \"$@\""
        return (
            try ChildProcess.spawn("/bin/sh", ["-c", script, path] + options, variables, log), log
        )
    }

    /// The journal of servers whose test does not choose one: CI runs the suite with both.
    static let usesFile = ProcessInfo.processInfo.environment["REACTOR_TEST_JOURNAL"] == "file"

    /// What such a server says of it.
    static var durability: String { usesFile ? "file" : "memory" }

    private static func journal() -> String {
        guard usesFile else { return "memory" }
        return "file:\(TemporaryFolder.shared.path)/\(UUID().uuidString).sqlite"
    }
}

/// The server did not come up.
struct NotStarted: Error, CustomStringConvertible {
    var log: ProcessLog.Present
    var description: String {
        "not started, exit \(String(describing: log.exit)): \(log.output) \(log.errors)"
    }
}

extension ServerProcess {
    /// What the process holds in memory, from proc(5).
    func residentKilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.split(separator: " ", omittingEmptySubsequences: true)[1]) }
            ?? 0
    }

    /// How many descriptors the process has open.
    func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }
}
