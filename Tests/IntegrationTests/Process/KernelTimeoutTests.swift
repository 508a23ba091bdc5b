import Foundation
import Glibc
import SampleReactors
import Testing

@testable import ReactorHosting

@Suite(
    "The kernel gives up a vanished peer after --stall-timeout and 5 s", .timeLimit(.minutes(60)))
struct KernelTimeoutTests {
    /// TCP_USER_TIMEOUT of the server's end of `connection`, in milliseconds. The server runs in
    /// this process.
    private func timeout(_ connection: RawConnection, to port: UInt16) async throws -> UInt32 {
        await connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = await connection.answers(1)
        let accepted = (0..<Int32(sysconf(Int32(_SC_OPEN_MAX)))).first {
            Self.port($0, ofPeer: false) == port
                && Self.port($0, ofPeer: true) == connection.localPort
        }
        var (milliseconds, length) = (UInt32(0), socklen_t(MemoryLayout<UInt32>.size))
        let result = unsafe getsockopt(
            try #require(accepted), Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, &length)
        #expect(result == 0)
        return milliseconds
    }

    /// Nil if the descriptor is not an IPv4 socket.
    private static func port(_ descriptor: Int32, ofPeer isPeer: Bool) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                isPeer
                    ? unsafe getpeername(descriptor, $0, &length)
                    : unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }

    @Test func `of the start, and after a reload the new one for later connections`() async throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/server.conf"
        try "stall-timeout = 100s\n".write(toFile: path, atomically: true, encoding: .utf8)
        let typed = [
            "config": path, "port": "0", "loops": "1", "journal": "memory",
            "log-level": "critical", "ops-listen": "127.0.0.1:0", "drain-delay": "1ms",
        ]
        let start = try Configuration.read(typed: typed, environment: [:])
        let reload = SettingsReload(
            typed: typed, environment: [:], start: start, authenticator: nil
        ) { _ in nil }
        let (addresses, started) = AsyncStream<ServerAddresses>.makeStream()
        let running = Task {
            defer { started.finish() }
            let server = ReactorServer(
                hosting: [Hosted("alerts") { Alerts() }], configuration: start.configuration,
                authenticator: nil)
            try await server.run(reloading: reload) { started.yield($0) }
        }
        defer { running.cancel() }
        guard let address = await addresses.first(where: { _ in true }) else {
            return try await running.value
        }
        let ports = [address.main, try #require(address.operations)].compactMap {
            $0.split(separator: ":").last.flatMap { UInt16($0) }
        }
        #expect(ports.count == 2)
        let first = try ports.map { try RawConnection(port: $0) }
        for (connection, port) in zip(first, ports) {
            #expect(try await timeout(connection, to: port) == 105_000)
        }
        try "stall-timeout = 200s\n".write(toFile: path, atomically: true, encoding: .utf8)
        reload.request()
        while reload.present.stallTimeout != .seconds(200) { await Task.yield() }
        for (connection, port) in zip(first, ports) {
            #expect(try await timeout(try RawConnection(port: port), to: port) == 205_000)
            #expect(try await timeout(connection, to: port) == 105_000)
        }
        running.cancel()
        try await running.value
    }
}
