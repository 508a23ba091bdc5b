import Glibc
import Testing

@testable import Sockets

/// A plain blocking socket, as a test's peer. Every wait ends after 20 s, with a failed
/// expectation.
final class Client: Sendable {
    let descriptor: Int32

    /// Closed on exec: a child of another test that holds a copy keeps the connection open.
    private static let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

    init(to address: ListenAddress) throws {
        switch address {
        case .tcp(let host, let port):
            let resolved = try SocketAddress.all(host: host, port: port)
            let target = try #require(resolved.first)
            descriptor = socket(target.family, Self.kind, 0)
            let code = target.connect(descriptor)
            guard code == 0 else {
                throw SystemFailure(operation: "connect", code: code, detail: "\(address)")
            }
            // Sent bytes have arrived when the call returns.
            SocketCalls.sendWithoutDelay(descriptor)
        case .unix(let path, _):
            descriptor = socket(AF_UNIX, Self.kind, 0)
            let target = try SocketAddress.unix(path)
            try #require(target.connect(descriptor) == 0)
        }
        setTimeouts()
    }

    /// Owns a connected socket, such as one half of a pair.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        setTimeouts()
    }

    deinit {
        close(descriptor)
    }

    private func setTimeouts() {
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
    }

    /// Sends all of it; returns the number of bytes sent before an error.
    @discardableResult
    func send(_ bytes: [UInt8], flags: Int = 0) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | flags))
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    @discardableResult
    func send(_ text: String) -> Int { send(Array(text.utf8)) }

    enum Ending: Equatable { case finished, failed(Int32) }

    /// Reads until `wanted` bytes have arrived, or to the end.
    func receive(_ wanted: Int) -> (bytes: [UInt8], ending: Ending?) {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < wanted {
            let limit = min(chunk.count, wanted - bytes.count)
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, limit, 0)
            }
            if count == 0 { return (bytes, .finished) }
            if count < 0 {
                if errno == EINTR { continue }
                return (bytes, .failed(errno))
            }
            bytes += chunk[..<count]
        }
        return (bytes, nil)
    }

    func receiveText(_ wanted: Int) -> String {
        String(decoding: receive(wanted).bytes, as: UTF8.self)
    }

    func receiveAll() -> (bytes: [UInt8], ending: Ending?) { receive(.max) }

    func finishWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the next `close` (on release of the client) send a reset.
    func armReset() { SocketCalls.armReset(descriptor) }

    /// A pair of connected Unix stream sockets.
    static func pair() throws -> (Int32, Int32) {
        var both: [Int32] = [0, 0]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &both) == 0)
        return (both[0], both[1])
    }
}

/// The limit on the descriptors of a process; Glibc's name for it is a macro.
let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

/// Raises the soft limit on descriptors where it is lower.
func allowDescriptors(_ wanted: UInt) throws {
    var limit = rlimit()
    try #require(unsafe getrlimit(descriptors, &limit) == 0)
    guard limit.rlim_cur < wanted else { return }
    limit.rlim_cur = min(wanted, limit.rlim_max)
    try #require(unsafe setrlimit(descriptors, &limit) == 0)
}
