import Foundation
import Glibc

/// Headless Chromium with one page open, until its last reference is released.
final class Browser: Sendable {
    /// Nil where it is not installed.
    static let program = [
        "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome",
    ]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

    let log = ProcessLog()
    private let pid: pid_t
    private let profile: String

    init(_ program: String, opening url: String, _ additional: String...) throws {
        profile = "/tmp/rs-browser-\(UInt64.random(in: 0 ... .max))"
        let options =
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
                "--disable-extensions", "--no-proxy-server", "--user-data-dir=\(profile)",
            ] + additional + [url]
        pid = try ChildProcess.spawn(
            program, options, ProcessInfo.processInfo.environment, log)
    }

    /// Ends it and removes its profile.
    func quit() async throws {
        kill(pid, SIGTERM)
        try await log.wait { $0.exit != nil }
        // Its helper processes may still write for a moment; their files are in /tmp.
        try? FileManager.default.removeItem(atPath: profile)
    }

    deinit {
        if log.present.exit == nil { kill(pid, SIGKILL) }
    }
}
