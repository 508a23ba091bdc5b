import Foundation
import Glibc
import Synchronization

/// A server that does what a test says, byte by byte: each connection runs the script on a thread
/// of its own, and is closed when the script returns.
final class ScriptedServer: Sendable {
    let port: UInt16
    private let listener: Int32

    struct Failure: Error {
        let call: String
        let code: Int32
    }

    /// - Parameter sendBufferBytes: the kernel's, of each connection; nil: the system's.
    init(
        sendBufferBytes: Int32? = nil, _ script: @escaping @Sendable (Peer) -> Void
    ) throws {
        let listener = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        guard listener >= 0 else { throw Failure(call: "socket", code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0 && listen(listener, 1_024) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw Failure(call: "listen", code: errno) }
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                let peer = Peer(connection, sendBufferBytes)
                Thread.detachNewThread {
                    script(peer)
                    peer.finish()
                }
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    var address: String { "http://127.0.0.1:\(port)" }
}

/// One connection of a ``ScriptedServer``. Every wait ends after 10 minutes: a test may be held up.
final class Peer: Sendable {
    private let descriptor: Int32
    private let unread = Mutex<[UInt8]>([])
    private let isFinished = Mutex(false)

    init(_ descriptor: Int32, _ sendBufferBytes: Int32?) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: 600, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        // Pieces that are sent apart leave apart.
        var one: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        if var bytes = sendBufferBytes {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, 4)
        }
    }

    deinit { finish() }

    /// The next request with its body, as text; nil after the client has closed.
    func request() -> String? {
        guard let end = receive(until: { $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound })
        else { return nil }
        let head = dequeue(end)
        let fields = head.lowercased().split(separator: "\r\n")
        let length = fields.lazy.compactMap { field -> Int? in
            guard field.hasPrefix("content-length: ") else { return nil }
            return Int(field.dropFirst(16))
        }.first
        guard let length, length > 0 else { return head }
        guard receive(until: { $0.count >= length ? length : nil }) != nil else { return nil }
        return head + dequeue(length)
    }

    /// Whether everything was sent: false if the client has gone.
    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        var left = Array(bytes)[...]
        while !left.isEmpty {
            let count = unsafe left.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            left = left.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Waits until the client has closed; false if it has sent something instead.
    @discardableResult
    func waitForClose() -> Bool { receive(until: { $0.isEmpty ? nil : 0 }) == nil }

    /// Closes with a reset.
    func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        finish()
    }

    func finish() {
        let isFirst = isFinished.withLock { isFinished in
            defer { isFinished = true }
            return !isFinished
        }
        if isFirst { close(descriptor) }
    }

    private func dequeue(_ count: Int) -> String {
        unread.withLock { unread in
            defer { unread.removeFirst(count) }
            return String(decoding: unread.prefix(count), as: UTF8.self)
        }
    }

    private func receive(until end: ([UInt8]) -> Int?) -> Int? {
        var room = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let found = unread.withLock({ end($0) }) { return found }
            let count = unsafe room.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            guard count > 0 else { return nil }
            unread.withLock { $0 += room.prefix(count) }
        }
    }
}
