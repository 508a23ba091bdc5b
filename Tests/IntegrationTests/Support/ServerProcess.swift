import Foundation
import Glibc

/// A real server process, on a port chosen by the system.
///
/// It is killed when its last reference is released, and at the latest after the test process
/// (``Watchdog``).
final class ServerProcess: Sendable {
    enum Program: String, Sendable {
        case server = "reactor-server"
        case fixtures = "fixture-server"

        /// The products are in the folder of the test bundle.
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
    /// Likewise; nil without `--ops-listen`.
    let operationsAddress: String?

    /// Starts a server and waits until it reports that it is ready.
    ///
    /// - Parameters:
    ///   - prelude: shell commands that run first in the same process, such as `ulimit -n 100`.
    ///   - begun: Called with the log before the server is ready.
    static func start(
        _ program: Program = .server, _ options: [String] = [],
        environment: [String: String] = [:], prelude: String? = nil,
        begun: (ProcessLog) -> Void = { _ in }
    ) async throws -> ServerProcess {
        let process = try launch(
            program, ["--port", "0"] + options, environment: environment, prelude: prelude)
        begun(process.log)
        try await process.log.wait { $0.output.contains("\n") || $0.exit != nil }
        let line = process.log.present.output.prefix { $0 != "\n" }
        guard line.hasPrefix("reactor-server listening on "), line.contains(" (journal: ")
        else { throw NotStarted(log: process.log.present) }
        let address = String(line.split(separator: " ")[3])
        let operations = line.split(separator: "operations: ").dropFirst().first?.dropLast()
        let server = ServerProcess(process.pid, process.log, address, operations.map(String.init))
        let answer = try await (server.operationsClient ?? server.client()).get("/readyz")
        guard answer.status == 200 else { throw UnexpectedAnswer(response: answer) }
        return server
    }

    /// Runs the program until it ends by itself.
    static func run(
        _ program: Program = .server, _ options: [String], environment: [String: String] = [:],
        prelude: String? = nil
    ) async throws -> ProcessLog.Present {
        let process = try begin(program, options, environment: environment, prelude: prelude)
        _ = try await process.exit()
        return process.log.present
    }

    /// Runs the program as a command, without an address.
    static func begin(
        _ program: Program = .server, _ options: [String], environment: [String: String] = [:],
        prelude: String? = nil
    ) throws -> ServerProcess {
        let process = try launch(program, options, environment: environment, prelude: prelude)
        return ServerProcess(process.pid, process.log, "")
    }

    private init(
        _ pid: pid_t, _ log: ProcessLog, _ address: String, _ operationsAddress: String? = nil
    ) {
        self.pid = pid
        self.log = log
        self.address = address
        self.operationsAddress = operationsAddress
    }

    deinit {
        if log.present.exit == nil { kill(pid, SIGKILL) }
    }

    /// A new client with its own connections.
    func client() -> Client { Self.client(of: address) }

    /// A new client of the operations address; nil without one.
    var operationsClient: Client? { operationsAddress.map { Self.client(of: $0) } }

    private static func client(of address: String) -> Client {
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

    /// The port, for a bare socket.
    var port: UInt16 { UInt16(address.split(separator: ":").last ?? "") ?? 0 }

    /// The port of the operations address; 0 without one.
    var operationsPort: UInt16 {
        operationsAddress.flatMap { UInt16($0.split(separator: ":").last ?? "") } ?? 0
    }

    static func launch(
        _ program: Program, _ options: [String], environment: [String: String],
        prelude: String? = nil
    ) throws -> (pid: pid_t, log: ProcessLog) {
        // Settings in the environment of the tests are ignored.
        var variables = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("REACTOR_")
        }
        let variant = ServerVariant.current
        // The tests are a debug build, whose constants a test can change.
        variables["REACTOR_CONSTANTS"] = "adjustable"
        variables["REACTOR_POLLER"] = variant.poller
        variables["REACTOR_LOOPS"] = String(variant.loops)
        variables["REACTOR_JOURNAL"] = variant.journal()
        variables["REACTOR_ALLOW_HOST"] = hosts.joined(separator: ",")
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

    /// The names in `Host` of requests that tests write by hand.
    static let hosts = ["a", "h", "x", "example.org"]
}

/// The server did not start.
struct NotStarted: Error, CustomStringConvertible {
    var log: ProcessLog.Present
    var description: String {
        "not started, exit \(String(describing: log.exit)): \(log.output) \(log.errors)"
    }
}

extension ServerProcess {
    /// The resident memory of the process, from proc(5): its own, without the pages of files. Those
    /// of the program come as it is used, and go when memory is scarce.
    func residentKilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return line.flatMap { Int($0.split(separator: " ", omittingEmptySubsequences: true)[1]) }
            ?? 0
    }

    /// The number of open descriptors of the process.
    func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }
}
