import Foundation
import Glibc
import TestProcesses

/// System programs that tests of failing disks need. A test is skipped if its program is missing.
enum Tool {
    static let hasPython = find("python3") != nil
    static let canTrace = find("strace") != nil && mayTrace()
    static let canMount = mayMount()

    /// Runs the program to its end.
    static func run(_ name: String, _ arguments: [String]) async throws -> ProcessLog.Present {
        let log = ProcessLog()
        _ = try start(name, arguments, log)
        try await log.wait { $0.exit != nil }
        return log.present
    }

    @discardableResult
    static func start(_ name: String, _ arguments: [String], _ log: ProcessLog) throws -> pid_t {
        guard let path = find(name) else {
            throw SystemCallFailure(call: "look for \(name)", code: ENOENT)
        }
        return try ChildProcess.spawn(path, arguments, ProcessInfo.processInfo.environment, log)
    }

    private static func find(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
            .split(separator: ":")
        return folders.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Most containers forbid it.
    private static func mayTrace() -> Bool {
        exitCode("strace -qq -e trace=none -e inject=fdatasync:error=EIO /bin/true") == 0
    }

    private static func mayMount() -> Bool {
        exitCode(
            """
            folder=$(mktemp -d) && mount -t tmpfs -o size=1m none "$folder" && umount "$folder"
            code=$?; rmdir "$folder"; exit $code
            """) == 0
    }

    private static func exitCode(_ script: String) -> Int32 {
        guard
            let pid = try? TestProcess.spawn(
                "/bin/sh", ["-c", script])
        else { return -1 }
        return TestProcess.wait(for: pid)
    }
}
