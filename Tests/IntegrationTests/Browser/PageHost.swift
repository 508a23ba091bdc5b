import Foundation
import Glibc

/// Serves one page to a browser and records the reports of the page, one line of JSON each.
///
/// It is no full web server: one request per connection, answered and closed.
final class PageHost: Sendable {
    let port: UInt16
    /// The page's reports, a line each, in the order in which it sent them.
    let log = ProcessLog()
    private let listener: LoopbackListener

    init(page: String) throws {
        listener = try LoopbackListener { [log] in PageHost.serve($0, page, log) }
        port = listener.port
    }

    private static func serve(_ connection: Int32, _ page: String, _ log: ProcessLog) {
        let request = read(connection)
        let path = request.head.split(separator: " ").dropFirst().first ?? ""
        switch path {
        case "/report":
            log.change { $0.output += request.body + "\n" }
            LoopbackListener.write(
                connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        case "/":
            LoopbackListener.write(
                connection,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                    + "Content-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n\(page)")
        default:
            LoopbackListener.write(
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
}
