/// A request that a test sends to a server.
struct Request: Sendable {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Sent with chunked transfer coding, whatever its size.
        case chunked([UInt8])
    }

    enum Version: Sendable { case http10, http11 }

    var method = "GET"
    var path: String
    var fields: [(name: String, value: String)] = []
    var body = Body.none
    var version = Version.http11
    /// Whether it has its own connection, opened for this request and closed after it.
    var isAlone = false

    /// JSON as the body, with its `Content-Type`.
    static func json(_ method: String, _ path: String, _ text: String) -> Request {
        Request(
            method: method, path: path, fields: [("Content-Type", "application/json")],
            body: .bytes(Array(text.utf8)))
    }
}

/// The start line and the fields of a response, as received.
struct ResponseHead: Sendable {
    var status = 0
    var version = ""
    /// In the order of their arrival.
    var fields: [(name: String, value: String)] = []

    /// The value of the first field of that name; names are case-insensitive (RFC 9110 §5.1).
    subscript(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Parses one line, without its end. A new status line starts over: the previous response was
    /// an interim one.
    mutating func parse(_ line: Substring) {
        if line.hasPrefix("HTTP/") {
            let parts = line.split(separator: " ", maxSplits: 2)
            self = ResponseHead(
                status: parts.count > 1 ? Int(parts[1]) ?? 0 : 0, version: String(parts[0]))
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append((String(line[..<colon]), String(value)))
        }
    }
}

/// A whole response.
struct Response: Sendable {
    var head = ResponseHead()
    var body: [UInt8] = []
    /// The number of connections that libcurl had to open for it, 0 or 1.
    var newConnections = 0

    var status: Int { head.status }
    subscript(_ name: String) -> String? { head[name] }
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON.
    var json: JSONValue {
        get throws { try JSONValue(text: text) }
    }
}
