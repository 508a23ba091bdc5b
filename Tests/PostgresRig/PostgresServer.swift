internal import Foundation
internal import Synchronization
internal import TestProcesses

/// A PostgreSQL server of its own for the tests, in a temporary folder, without a network:
/// it listens on a socket there. It does not run as root, so the tests start it as another
/// user if they do.
package final class PostgresServer: Sendable {
    /// For tests that leave the server's settings alone.
    package static let shared = Result { try PostgresServer() }

    package let folder: String
    private let schemas = Atomic<Int>(0)

    /// Where `initdb` and `pg_ctl` are: Debian has a folder for each version; else they
    /// are in `PATH`.
    private static let programs: String = {
        let versions = (15...30).reversed().map { "/usr/lib/postgresql/\($0)/bin/" }
        return versions.first { FileManager.default.isExecutableFile(atPath: $0 + "initdb") } ?? ""
    }()

    package struct Failure: Error, CustomStringConvertible {
        package var description: String

        package init(description: String) { self.description = description }
    }

    package convenience init() throws {
        try self.init(in: Self.newFolder()) {
            try $0.run(
                "initdb", ["-D", "\($0.folder)/data", "-A", "trust", "-U", "postgres", "-N"])
        }
    }

    /// A standby with a copy of another server's data, which it follows. No commit waits for it.
    ///
    /// - Parameter folder: From ``newFolder()``: clients may have its name before
    ///   there is a server.
    package convenience init(standbyOf primary: PostgresServer, in folder: String) throws {
        try self.init(in: folder) {
            try $0.run(
                "pg_basebackup",
                [
                    "-h", primary.folder, "-U", "postgres", "-D", "\($0.folder)/data", "-R", "-c",
                    "fast", "-X", "stream",
                ])
        }
    }

    private init(in folder: String, fill: (PostgresServer) throws -> Void) throws {
        self.folder = folder
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        if geteuid() == 0 { try Self.run(["chown", "postgres", folder]) }
        try fill(self)
        Self.started.withLock { $0.append(folder) }
        _ = Self.stopsAtExit
        try start()
    }

    /// A folder that no other server has.
    package static func newFolder() -> String {
        "\(place)/reactor-postgres-\(UUID().uuidString.prefix(8))"
    }

    /// In memory if enough is free, because a run flushes gigabytes. These tests end processes but
    /// never the machine, so memory is durable enough.
    private static let place: String = {
        let memory = "/dev/shm"
        let values = try? FileManager.default.attributesOfFileSystem(forPath: memory)
        let free = values?[.systemFreeSize] as? NSNumber
        let isRoomy = (free?.int64Value ?? 0) >= 12 << 30
        return isRoomy && FileManager.default.isWritableFile(atPath: memory) ? memory : "/tmp"
    }()

    private static let started = Mutex<[String]>([])

    private static let stopsAtExit: Bool = {
        atexit {
            for folder in PostgresServer.started.withLock({ $0 }) {
                // Does not wait for each server to end, because there are a hundred.
                try? PostgresServer.run(
                    PostgresServer.asUser(
                        "pg_ctl", ["-D", "\(folder)/data", "stop", "-W", "-m", "immediate"]))
            }
            for folder in PostgresServer.started.withLock({ $0 }) {
                try? FileManager.default.removeItem(atPath: folder)
            }
        }
        return true
    }()

    package func start() throws {
        try run(
            "pg_ctl",
            [
                "-D", "\(folder)/data", "-w", "-t", "600", "-l", "\(folder)/log", "start", "-o",
                "-k \(folder) -c listen_addresses='' -c max_connections=1500",
            ])
    }

    /// Ends the server: `smart`, `fast` or `immediate`, which is a crash.
    package func stop(_ mode: String) throws {
        try run("pg_ctl", ["-D", "\(folder)/data", "-w", "-t", "600", "stop", "-m", mode])
    }

    /// Makes a standby the primary, with the history that it has.
    package func promote() throws {
        try run("pg_ctl", ["-D", "\(folder)/data", "-w", "-t", "600", "promote"])
    }

    /// Makes commits wait for any one of the standbys.
    package func waitForStandby() throws {
        try psql(
            "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'", "SELECT pg_reload_conf()")
    }

    /// Gives the server the history of another server's timeline, as an archive does, so that it is
    /// promoted to a later timeline.
    package func learnTimeline(_ timeline: String, of other: PostgresServer) throws {
        let name = "data/pg_wal/\(timeline).history"
        try Self.run(["cp", "-p", "\(other.folder)/\(name)", "\(folder)/\(name)"])
    }

    /// - Parameter folder: The folder of the socket; default: the server's own.
    package func address(_ schema: String, by folder: String? = nil) -> String {
        "postgres://postgres@/postgres?host=\(folder ?? self.folder)&schema=\(schema)"
    }

    /// A name that no other test has.
    package func newSchema() -> String {
        "s\(schemas.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    /// Ends the connections to a schema, in the middle of their statements.
    package func endConnections(to schema: String) throws {
        try psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                + "WHERE application_name LIKE '\(schema)/%'")
    }

    /// Executes SQL, each command in a transaction of its own.
    package func psql(_ commands: String...) throws {
        try run(
            "psql",
            ["-h", folder, "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
                + commands.flatMap { ["-c", $0] })
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        try Self.run(Self.asUser(program, arguments))
    }

    private static func asUser(_ program: String, _ arguments: [String]) -> [String] {
        let user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        return (geteuid() == 0 ? user : []) + [programs + program] + arguments
    }

    private static func run(_ words: [String]) throws {
        let pid = try TestProcess.spawn("/bin/sh", ["-c", "cd /tmp && exec \"$@\"", "run"] + words)
        let status = TestProcess.wait(for: pid)
        guard status == 0 else { throw Failure(description: "\(words) ended with \(status)") }
    }
}
