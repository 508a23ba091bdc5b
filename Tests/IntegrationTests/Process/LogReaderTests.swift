import Foundation
import Glibc
import TestProcesses
import Testing

@Suite("A reader of the log delays no request", .timeLimit(.minutes(60)))
struct LogReaderTests {
    @Test func `a log reader that goes away does not end the server`() async throws {
        try await withLog { (log: Int32, server: PipedServer) async throws in
            close(log)
            for _ in 1...10 { #expect(try await server.client.get("/nothing").status == 404) }
            #expect(try await server.end() == 0)
        }
    }

    @Test(arguments: [false, true])
    func `a log reader that stalls stops no request and later gets the lines in order`(
        isNonBlocking: Bool
    ) async throws {
        try await withLog(isNonBlocking: isNonBlocking) {
            (log: Int32, server: PipedServer) async throws in
            // Many times the capacity of a pipe.
            for number in 1...3_000 {
                let path = "/nothing-\(number)"
                #expect(try await server.client.get(path).status == 404)
            }
            let ending = Task { try await server.end() }
            let lines = await Task.detached {
                FileHandle(fileDescriptor: log).readDataToEndOfFile()
            }
            .value.split(separator: UInt8(ascii: "\n"))
            close(log)
            #expect(try await ending.value == 0)
            #expect(lines.count(where: { $0.contains("status=404") }) == 3_000)
        }
    }

    /// A server that logs into a pipe whose other end the test holds.
    private func withLog(
        isNonBlocking: Bool = false, _ body: (Int32, PipedServer) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let pipe = try DescriptorPair()
            if isNonBlocking { _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK) }
            let server = try PipedServer(log: pipe.writing)
            close(pipe.writing)
            while (try? await server.client.get("/readyz").status) != 200 {
                try Task.checkCancellation()
            }
            try await body(pipe.reading, server)
        }
    }
}

private final class PipedServer: Sendable {
    let client: Client
    private let pid: pid_t
    private let folder = TemporaryFolder()

    init(log: Int32) throws {
        let socket = "\(folder.path)/s"
        pid = try TestProcess.spawn(
            ServerProcess.Program.server.path,
            ["--journal", "memory", "--host", "unix:\(socket)", "--log-level", "debug"], [:],
            input: nil,
            output: nil, errors: log)
        Watchdog.shared.born(pid)
        client = Client(base: "http://localhost", unixPath: socket)
    }

    deinit { kill(pid, SIGKILL) }

    /// Its exit code after SIGTERM; nil if it ended otherwise.
    func end() async throws -> Int32? {
        kill(pid, SIGTERM)
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, WNOHANG) == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        Watchdog.shared.died(pid)
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }
}

extension Data {
    fileprivate func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
