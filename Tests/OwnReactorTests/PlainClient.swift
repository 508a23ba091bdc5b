#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A blocking TCP connection to this machine: enough to send a request and read the response.
///
/// It never waits longer than ten seconds for a byte, so that a silent server fails the test
/// instead of hanging it.
final class PlainClient {
    private let descriptor: Int32
    private(set) var heard = ""

    struct Failure: Error {
        var what: String
        var heard: String
    }

    /// - Parameter address: as the server reports it: `http://127.0.0.1:4711`.
    init(_ address: String) throws {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Failure(what: "no port in \(address)", heard: "")
        }
        #if canImport(Glibc)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &name) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(what: "can't connect to \(address)", heard: "") }
    }

    deinit {
        close(descriptor)
    }

    func say(_ method: String, _ path: String, _ body: String = "") {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
        if !body.isEmpty {
            text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        }
        let bytes = Array((text + "\r\n" + body).utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Reads until the text has arrived, and returns everything up to its end.
    @discardableResult
    func hear(_ text: String) throws -> String {
        while true {
            if let range = heard.firstRange(of: text) {
                let before = String(heard[..<range.upperBound])
                heard.removeSubrange(..<range.upperBound)
                return before
            }
            guard try readMore() else { throw Failure(what: "\(text) never came", heard: heard) }
        }
    }

    /// Reads until the server closes.
    func hearTheEnd() throws {
        while try readMore() {}
    }

    private func readMore() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard count >= 0 else { throw Failure(what: "nothing came", heard: heard) }
        heard += String(decoding: bytes[..<count], as: UTF8.self)
        return count > 0
    }
}
