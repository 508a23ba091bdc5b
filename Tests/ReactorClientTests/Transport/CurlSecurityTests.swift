import Foundation
import Glibc
import Synchronization
import TestProcesses
import Testing

@testable import ReactorClient

#if os(Linux)
    private let openssl = "/usr/bin/openssl"

    @Suite(
        "a server without a trusted certificate gets nothing",
        .enabled(if: FileManager.default.isExecutableFile(atPath: openssl)),
        .timeLimit(.minutes(60)))
    struct CurlSecurityTests {
        @Test func `only a trusted certificate of that name is accepted`() async throws {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "security-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let certificate = folder.appending(path: "certificate.pem").path()
            let other = folder.appending(path: "other.pem").path()
            let key = folder.appending(path: "key.pem").path()
            for file in [other, certificate] {
                let make = try Self.run([
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", "/CN=a test", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", file,
                ])
                #expect(TestProcess.wait(for: make.pid) == 0)
                try #require(FileManager.default.fileExists(atPath: file))
            }
            let server = try Self.run([
                "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www",
            ])
            defer {
                kill(server.pid, SIGKILL)
                TestProcess.wait(for: server.pid)
            }
            let port = try #require(Self.port(server.output))

            func response(_ file: String?, _ host: String = "127.0.0.1") async throws -> Response {
                let transport = try localTransport { $0.trustedCertificates = file }
                return await transport.response(
                    of: TransportRequest("GET", "https://\(host):\(port)/"))
            }
            let good = try await response(certificate)
            #expect(good.status == 200)
            #expect(good.text.contains("Ciphers supported"))
            for (file, host) in [
                (nil, "127.0.0.1"), (other, "127.0.0.1"), (certificate, "localhost"),
                (folder.path() + "/none", "127.0.0.1"),
            ] {
                let bad = try await response(file, host)
                #expect(bad.status == 0)
                #expect(bad.failure?.kind == .insecure, "\(file ?? "system") \(host)")
            }
        }

        private static func run(
            _ arguments: [String]
        ) throws -> (pid: pid_t, output: FileHandle) {
            let output = Pipe()
            let pid = try TestProcess.spawn(
                openssl, arguments, output: output.fileHandleForWriting.fileDescriptor)
            try output.fileHandleForWriting.close()
            return (pid, output.fileHandleForReading)
        }

        /// Reads `ACCEPT 127.0.0.1:40123`.
        private static func port(_ output: FileHandle) -> UInt16? {
            var text = ""
            while true {
                let data = output.availableData
                guard !data.isEmpty else { return nil }
                text += String(decoding: data, as: UTF8.self)
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                for line in lines.dropLast() where line.hasPrefix("ACCEPT") {
                    if let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) {
                        return port
                    }
                }
            }
        }
    }
#endif
