// Bytes that are not HTTP, and invalid requests.

/// Makes requests that a server refuses before or during routing.
enum StormGarbage {
    /// The prefix of such a request's line. The server may answer them with 501 or 505.
    static let mark = "garbage"

    /// A request for this path with one fault, and sometimes one changed byte in addition.
    static func request(
        method: String, path: String, host: String, _ random: inout SeededNumbers
    ) -> StormRequest {
        var (kind, bytes) = broken(method, path, host, &random)
        if Int.random(in: 0..<4, using: &random) == 0, !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            bytes[place] = UInt8.random(in: 0...255, using: &random)
            kind += ", byte \(place)"
        }
        return StormRequest(bytes: bytes, line: "\(mark): \(kind): \(method) \(path)")
    }

    private static func broken(
        _ method: String, _ path: String, _ host: String, _ random: inout SeededNumbers
    ) -> (kind: String, bytes: [UInt8]) {
        let length = [200, 1_100, 5_000, 20_000, 70_000].randomElement(using: &random) ?? 200
        let long = String(repeating: "x", count: length)
        let start = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        let json = "\(start)Content-Type: application/json\r\n"
        let chunked = "\(json)Transfer-Encoding: chunked\r\n\r\n"
        let texts: [(String, String)] = [
            ("a long target", "\(method) \(path)?\(long) HTTP/1.1\r\nHost: \(host)\r\n\r\n"),
            ("a long field", "\(start)X-Long: \(long)\r\n\r\n"),
            ("a long name", "\(start)\(long): a\r\n\r\n"),
            ("many fields", start + String(repeating: "A: b\r\n", count: length / 6) + "\r\n"),
            ("a head without end", "\(start)X-Half: \(long)"),
            ("NUL in a target", "\(method) \(path)\0 HTTP/1.1\r\nHost: \(host)\r\n\r\n"),
            ("NUL in a field", "\(start)X-Nul: a\0b\r\n\r\n"),
            ("a bare LF", "\(method) \(path) HTTP/1.1\nHost: \(host)\n\n"),
            ("a bare CR", "\(start)X: a\rb\r\n\r\n"),
            ("a folded line", "\(start)X: a\r\n b\r\n\r\n"),
            ("percent signs", "\(method) \(path)%00%zz% HTTP/1.1\r\nHost: \(host)\r\n\r\n"),
            ("a version", "\(method) \(path) HTTP/9.9\r\nHost: \(host)\r\n\r\n"),
            ("HTTP/1.0", "\(method) \(path) HTTP/1.0\r\n\r\n"),
            ("an absolute target", "\(method) http://\(host)\(path) HTTP/1.1\r\n\r\n"),
            ("an asterisk", "OPTIONS * HTTP/1.1\r\nHost: \(host)\r\n\r\n"),
            ("a length that is too large", "\(json)Content-Length: 99999999999\r\n\r\n{}"),
            ("a length beyond numbers", "\(json)Content-Length: 99999999999999999999\r\n\r\n{}"),
            ("a signed length", "\(json)Content-Length: +2\r\n\r\n{}"),
            ("a list of lengths", "\(json)Content-Length: 2, 2\r\n\r\n{}"),
            (
                "a length and chunks",
                "\(json)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            ("another coding", "\(json)Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
            ("a coding of content", "\(json)Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
            ("an extension", "\(chunked)2;a=\"b;c\";d\r\n{}\r\n0\r\n\r\n"),
            ("an extension without name", "\(chunked)2;\r\n{}\r\n0\r\n\r\n"),
            ("an open quote", "\(chunked)2;a=\"\r\n{}\r\n0\r\n\r\n"),
            ("a long extension", "\(chunked)2;a=\(long)\r\n{}\r\n0\r\n\r\n"),
            ("a huge chunk", "\(chunked)ffffffffffffffff\r\n{}"),
            ("a negative chunk", "\(chunked)-2\r\n{}\r\n0\r\n\r\n"),
            ("a chunk that is too short", "\(chunked)5\r\n{}\r\n0\r\n\r\n"),
            ("trailers", "\(chunked)2\r\n{}\r\n0\r\nX-Trailer: \(long)\r\n\r\n"),
            ("an expectation", "\(json)Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}"),
            ("a tail", "\(json)Content-Length: 2\r\n\r\n{}{}{}{}"),
        ]
        let known = HostileRequests.texts(path: path, authority: host)
        guard Int.random(in: 0..<4, using: &random) > 0,
            let one = texts.randomElement(using: &random)
        else {
            return ("known", Array((known.randomElement(using: &random) ?? "").utf8))
        }
        return (one.0, Array(one.1.utf8))
    }
}
