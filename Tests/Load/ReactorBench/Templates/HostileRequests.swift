// Requests that a server must refuse with a 4xx. The server answers each of them. Input that a
// server can only cut off (a head without end) is sent by abandoned connections instead.

/// Malformed requests, and well-formed requests that are wrong.
enum HostileRequests {
    /// Templates that violate RFC 9112 itself, or a rule that every JSON service has.
    ///
    /// `path` is the path to which actions are posted, `authority` the server's authority.
    static func templates(path: String, authority: String, run: String) -> [RequestTemplate] {
        texts(path: path, authority: authority).map { RequestTemplate(raw: $0, run: run) }
    }

    /// The same requests as the bytes that are sent.
    static func texts(path: String, authority: String) -> [String] {
        let host = "Host: \(authority)\r\n"
        let json = "Content-Type: application/json\r\n"
        return [
            // RFC 9112 §3.2: no Host field, or two of them.
            "POST \(path) HTTP/1.1\r\n\(json)Content-Length: 2\r\n\r\n{}",
            "GET /livez HTTP/1.1\r\n\(host)\(host)\r\n",
            // RFC 9112 §5.1: white space before the colon.
            "GET /livez HTTP/1.1\r\n\(host)X-Field : a\r\n\r\n",
            // RFC 9112 §6.3: lengths that contradict each other or are not numbers.
            "POST \(path) HTTP/1.1\r\n\(host)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "POST \(path) HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n",
            // RFC 9112 §3: an invalid request line.
            "this is no request\r\n\r\n",
            // Invalid JSON, and an invalid action.
            "POST \(path) HTTP/1.1\r\n\(host)\(json)Content-Length: 9\r\n\r\n{\"type\":}",
            "POST \(path) HTTP/1.1\r\n\(host)\(json)Content-Length: 14\r\n\r\n{\"type\":\"nix\"}",
            // A resource that does not exist, and a method that an existing resource does not have.
            "GET /nowhere HTTP/1.1\r\n\(host)\r\n",
            "BREW \(path) HTTP/1.1\r\n\(host)\r\n",
        ]
    }
}
