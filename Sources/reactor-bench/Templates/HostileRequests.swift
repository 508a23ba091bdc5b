// Requests that a server must refuse with a 4xx. Every one of them ends in an answer: what a
// server may only cut off (a head without end) is played by abandoned connections instead.

/// The malformed and the merely wrong.
enum HostileRequests {
    /// Templates that break RFC 9112 itself, or what any JSON service asks for.
    ///
    /// `path` is where actions are posted, `authority` the server's.
    static func templates(path: String, authority: String, run: String) -> [RequestTemplate] {
        texts(path: path, authority: authority).map { RequestTemplate(raw: $0, run: run) }
    }

    /// The same as they are sent.
    static func texts(path: String, authority: String) -> [String] {
        let host = "Host: \(authority)\r\n"
        let json = "Content-Type: application/json\r\n"
        return [
            // RFC 9112 §3.2: no Host, two Hosts.
            "POST \(path) HTTP/1.1\r\n\(json)Content-Length: 2\r\n\r\n{}",
            "GET /livez HTTP/1.1\r\n\(host)\(host)\r\n",
            // RFC 9112 §5.1: white space before the colon.
            "GET /livez HTTP/1.1\r\n\(host)X-Field : a\r\n\r\n",
            // RFC 9112 §6.3: lengths that contradict each other, or are none.
            "POST \(path) HTTP/1.1\r\n\(host)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "POST \(path) HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n",
            // RFC 9112 §3: a request line that is none.
            "this is no request\r\n\r\n",
            // JSON that is none, and an action that is none.
            "POST \(path) HTTP/1.1\r\n\(host)\(json)Content-Length: 9\r\n\r\n{\"type\":}",
            "POST \(path) HTTP/1.1\r\n\(host)\(json)Content-Length: 14\r\n\r\n{\"type\":\"nix\"}",
            // No such resource, no such method on one that is.
            "GET /nowhere HTTP/1.1\r\n\(host)\r\n",
            "BREW \(path) HTTP/1.1\r\n\(host)\r\n",
        ]
    }
}
