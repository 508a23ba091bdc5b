import Foundation
import Glibc

/// Serves one page to a browser and records the reports of the page, one line of JSON each.
///
/// It is no full web server: one request per connection, answered and closed.
final class PageHost: Sendable {
    let port: UInt16
    /// The page's reports, a line each, in the order in which it sent them.
    let log = ProcessLog()
    private let descriptor: Int32

    init(page: String) throws {
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
        Thread.detachNewThread { [log] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { break }
                PageHost.serve(connection, page, log)
                close(connection)
            }
        }
    }

    deinit {
        // Wakes the thread, which finds that there is nothing left to accept.
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    private static func serve(_ connection: Int32, _ page: String, _ log: ProcessLog) {
        let request = read(connection)
        let path = request.head.split(separator: " ").dropFirst().first ?? ""
        switch path {
        case "/report":
            log.change { $0.output += request.body + "\n" }
            write(connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        case "/":
            write(
                connection,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                    + "Content-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n\(page)")
        default:
            write(
                connection,
                "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
    }

    private static func read(_ connection: Int32) -> (head: String, body: String) {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let head = String(text[..<end.lowerBound])
                let body = String(text[end.upperBound...])
                var parsed = ResponseHead()
                for line in head.split(separator: "\r\n").dropFirst() { parsed.parse(line) }
                let length = parsed["Content-Length"].flatMap { Int($0) } ?? 0
                if body.utf8.count >= length { return (head, body) }
            }
            let count = unsafe recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return ("", "") }
            bytes += chunk[..<count]
        }
    }

    private static func write(_ connection: Int32, _ text: String) {
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
