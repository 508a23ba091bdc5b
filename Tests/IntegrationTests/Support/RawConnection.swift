import Dispatch
import Glibc

/// A bare socket, for bytes that no well-behaved client would send. Every wait ends after 150 s: a
/// peer that has found the window closed may ask again only 120 s later (tcp(7),
/// RFC 9293 §3.8.6.1).
///
/// Blocking calls run on the connection's own queues, one for each direction, never on the tests'
/// threads.
final class RawConnection: Sendable {
    enum Ending: Equatable, Sendable {
        /// The peer has closed its side in order.
        case finished
        /// `errno`: ECONNRESET, or EAGAIN when no byte came in time.
        case failed(Int32)
    }

    struct Received: Sendable {
        var bytes: [UInt8] = []
        var ending: Ending?
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    private let descriptor: Int32
    private let sending = DispatchQueue(label: "raw connection, sending")
    private let receiving = DispatchQueue(label: "raw connection, receiving")

    /// - Parameter receiveBufferBytes: the kernel's, set before connecting so that it determines
    ///   the offered window. Default: the system's.
    init(port: UInt16, host: String = "127.0.0.1", receiveBufferBytes: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemCallFailure(call: "socket", code: errno) }
        if var size = receiveBufferBytes {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
        var limit = timeval(tv_sec: 150, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
        // Pieces that are sent separately must arrive separately.
        var one: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        unsafe inet_pton(AF_INET, host, &address.sin_addr)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The initializer is complete, so `deinit` closes the descriptor; to close it here as well
        // could close another thread's.
        guard result == 0 else { throw SystemCallFailure(call: "connect", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// The local port.
    var localPort: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Sends all of it. False if the peer prevented it.
    @discardableResult
    func send(_ bytes: [UInt8]) async -> Bool {
        await run(on: sending) { Self.send(bytes, to: $0) }
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

    /// Reads until the text has arrived, or to the end.
    func receive(until wanted: String) async -> Received {
        let pattern = Array(wanted.utf8)
        return await receive { bytes in
            bytes.count >= pattern.count && String(decoding: bytes, as: UTF8.self).contains(wanted)
        }
    }

    /// Reads `count` bytes, or to the end.
    func receive(count: Int) async -> Received {
        await receive { $0.count >= count }
    }

    /// Reads to the end.
    func receiveAll() async -> Received {
        await receive { _ in false }
    }

    /// Reads until the condition holds for the bytes so far, or to the end.
    func receive(
        until isEnough: @escaping @Sendable ([UInt8]) -> Bool
    ) async -> Received {
        await run(on: receiving) { descriptor in
            var received = Received()
            var chunk = [UInt8](repeating: 0, count: 16_384)
            while !isEnough(received.bytes) {
                let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
                if count > 0 {
                    received.bytes += chunk[..<count]
                } else if count == 0 {
                    received.ending = .finished
                    break
                } else if errno != EINTR {
                    received.ending = .failed(errno)
                    break
                }
            }
            return received
        }
    }

    /// Ends sending; receiving continues.
    func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes closing send a reset instead of an orderly end.
    func makeCloseReset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends a text, then a space again and again, then a text, all on the connection's own thread:
    /// no byte is late because the tests' threads are occupied.
    func drip(
        after head: String, spaces: Int, everyMilliseconds pause: UInt32, then tail: String
    ) async {
        await run(on: sending) { descriptor in
            let parts = [head] + Array(repeating: " ", count: spaces) + [tail]
            for part in parts {
                _ = Self.send(Array(part.utf8), to: descriptor)
                usleep(pause * 1_000)
            }
        }
    }

    /// Sends what the closure returns, repeatedly, on the connection's own thread, until it returns
    /// nil or the peer prevents it. Nothing else can be sent meanwhile.
    func pump(everyMilliseconds pause: UInt32, _ next: @escaping @Sendable () -> [UInt8]?) {
        sending.async { [self] in
            while let bytes = next(), Self.send(bytes, to: descriptor) { usleep(pause * 1_000) }
        }
    }

    private func run<Result: Sendable>(
        on queue: DispatchQueue, _ work: @escaping @Sendable (Int32) -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            let descriptor = descriptor
            queue.async { [self] in
                // The descriptor lives while a call waits.
                withExtendedLifetime(self) { continuation.resume(returning: work(descriptor)) }
            }
        }
    }
}
