import Foundation
import Glibc
import Synchronization

/// Accepts connections on a port of its own, one after the other on one thread, and closes each
/// when it is served.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter serve: Serves a connection, by its descriptor.
    init(_ serve: @escaping @Sendable (Int32) -> Void) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                guard unsafe bind(descriptor, $0, length) == 0, listen(descriptor, 16) == 0 else {
                    return Int32(-1)
                }
                return unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw SystemCallFailure(call: "listen", code: errno) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { break }
                serve(connection)
                close(connection)
            }
        }
    }

    deinit {
        // Wakes the thread, which finds that there is nothing left to accept.
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    static func write(_ connection: Int32, _ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// A server that knows nothing: it sends each connection the next of its answers.
final class CannedServer: Sendable {
    /// The requests, without bodies.
    let log = ProcessLog()
    private let listener: LoopbackListener

    var address: String { "http://127.0.0.1:\(listener.port)" }

    /// - Parameter answers: The last one is repeated; an empty one only closes the connection.
    init(_ answers: String...) throws {
        let rest = Mutex(answers)
        listener = try LoopbackListener { [log] connection in
            var head: [UInt8] = []
            var byte: UInt8 = 0
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8),
                unsafe recv(connection, &byte, 1, 0) == 1
            {
                head.append(byte)
            }
            log.change { $0.output += String(decoding: head, as: UTF8.self) }
            let answer = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            LoopbackListener.write(connection, answer)
            // Bytes that are not read would reset the connection, and the answer with it.
            shutdown(connection, Int32(SHUT_WR))
            while unsafe recv(connection, &byte, 1, 0) == 1 {}
        }
    }
}
