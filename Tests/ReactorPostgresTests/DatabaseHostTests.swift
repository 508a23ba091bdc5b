import Cluster
import Foundation
import Testing

@testable import ReactorPostgres

@Suite("ADR-0067 — the hosts of an address", .timeLimit(.minutes(60)))
struct DatabaseHostTests {
    // One after the other, or as many at a time as there are processors, hosts that do not
    // respond would hold up a start for 3 s each. The reason that a host gives is the reason of
    // the failure.
    @Test func `all hosts of an address are asked at the same time`() throws {
        let crowd = try HostCrowd(count: 16)
        let hosts = DatabaseHosts(try PostgresAddress(crowd.address))
        do {
            _ = try hosts.connect(DatabaseBelief()) { _ in }
            Issue.record("none of them accepts")
        } catch {
            #expect(error.message.contains(HostCrowd.answer), "\(error.message)")
        }
        withExtendedLifetime(crowd) {}
    }
}

/// Hosts that answer no connection before all of them have one.
private final class HostCrowd: Sendable {
    static let answer = "all have a connection"

    let address: String
    private let listener: Int32

    init(count: Int) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var bound = sockaddr_in()
        bound.sin_family = sa_family_t(AF_INET)
        bound.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &bound) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let isBound = unsafe bind(listener, $0, length) == 0
                return unsafe isBound ? getsockname(listener, $0, &length) : -1
            }
        }
        let host = "127.0.0.1:\(UInt16(bigEndian: bound.sin_port))"
        address =
            "postgres://a@\(Array(repeating: host, count: count).joined(separator: ","))/a"
            + "?sslmode=disable&gssencmode=disable&connect_timeout=30"
        try #require(result == 0 && listen(listener, Int32(count)) == 0)
        Thread.detachNewThread {
            var bytes = [UInt8](repeating: 0, count: 1_024)
            var clients: [Int32] = []
            while clients.count < count {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                // To read the address, libpq begins a connection that it drops at once.
                guard unsafe recv(client, &bytes, bytes.count, 0) > 0 else {
                    _ = close(client)
                    continue
                }
                clients.append(client)
            }
            for client in clients {
                let answer = Self.refusal
                _ = unsafe send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
                _ = shutdown(client, Int32(SHUT_WR))
                // To the end of the client's bytes: a reset would overtake the answer.
                while unsafe recv(client, &bytes, bytes.count, 0) > 0 {}
                _ = close(client)
            }
        }
    }

    deinit {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        _ = close(listener)
    }

    /// ErrorResponse: E, the length, and fields of text.
    private static var refusal: [UInt8] {
        let fields = Array("SFATAL\0VFATAL\0C57P03\0M\(answer)\0\0".utf8)
        return [0x45, 0, 0, 0, UInt8(4 + fields.count)] + fields
    }
}
