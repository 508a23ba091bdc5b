import Foundation
import Synchronization

/// A journal's file in its own folder, and the servers that open it one after the other.
final class JournalFile: Sendable {
    private let folder: String?
    let path: String
    /// Retained, so that they live as long as the file.
    private let servers = Mutex<[ServerProcess]>([])

    /// - Parameter parent: the folder of the file; a new temporary folder if nil.
    init(in parent: String? = nil) throws {
        if let parent {
            folder = nil
            path = parent + "/journal.sqlite"
        } else {
            let made = NSTemporaryDirectory() + "reactor-journal-" + UUID().uuidString
            try FileManager.default.createDirectory(
                atPath: made, withIntermediateDirectories: true)
            folder = made
            path = made + "/journal.sqlite"
        }
    }

    deinit {
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    var options: [String] { ["--journal", "file:" + path] }

    func start(_ options: String...) async throws -> ServerProcess {
        let server = try await ServerProcess.start(.server, self.options + options)
        servers.withLock { $0.append(server) }
        return server
    }

    /// Runs a line of SQL on every column with records or actions, in place of `COLUMN` of `TABLE`.
    /// No server may have the file open.
    func edit(_ sql: String) async throws {
        let script = """
            import sqlite3, sys
            file = sqlite3.connect(sys.argv[1])
            names = [row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            for name in names:
                for column in [column[1] for column in file.execute(f"PRAGMA table_info({name})")]:
                    if column in ("content", "lines"):
                        file.execute(sys.argv[2].replace("TABLE", name).replace("COLUMN", column))
            file.commit()
            print(file.total_changes)
            """
        let log = try await Tool.run("python3", ["-c", script, path, sql])
        guard log.exit == .code(0), log.output != "0\n" else { throw NotStarted(log: log) }
    }
}

extension ServerProcess {
    /// Ends the server with kill -9.
    func murder() async throws {
        signal(SIGKILL)
        _ = try await exit()
    }
}

extension SessionHandle {
    /// The same session, on another node of its journal.
    func on(_ server: LocalServer) -> SessionHandle {
        SessionHandle(client: server.client(), id: id, created: created)
    }

    /// The same session, on the server that has opened its journal since.
    func on(_ server: ServerProcess) -> SessionHandle {
        SessionHandle(client: server.client(), id: id, created: created)
    }
}

/// Gives a test a journal's file when it may start servers.
func withJournal(
    in parent: String? = nil, do body: (JournalFile) async throws -> Void
) async throws {
    try await Turnstile.servers.pass { try await body(try JournalFile(in: parent)) }
}

/// Gives a test its own server with this journal: `memory`, or `file` for one in a
/// folder of its own.
func withServer(
    journal: String, do body: (ServerProcess) async throws -> Void
) async throws {
    guard journal == "file" else {
        return try await withServer(.server, "--journal", journal, do: body)
    }
    try await withJournal { file in try await body(try await file.start()) }
}
