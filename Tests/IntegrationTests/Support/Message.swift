/// What a test asks a server for.
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
    /// A connection of its own, made for this request and closed behind it.
    var isAlone = false

    /// JSON as the body, with its `Content-Type`.
    static func json(_ method: String, _ path: String, _ text: String) -> Request {
        Request(
            method: method, path: path, fields: [("Content-Type", "application/json")],
            body: .bytes(Array(text.utf8)))
    }
}

/// The start line and the fields of an answer, as they came.
struct ResponseHead: Sendable {
    var status = 0
    var version = ""
    /// In the order in which they came.
    var fields: [(name: String, value: String)] = []

    /// The value of the first field of that name; names do not care for case (RFC 9110 §5.1).
    subscript(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Takes one line, without its end. A new status line starts over: an interim response.
    mutating func take(_ line: Substring) {
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

/// A whole answer.
struct Response: Sendable {
    var head = ResponseHead()
    var body: [UInt8] = []
    /// What libcurl says of the connection: how many had to be made for it, 0 or 1.
    var newConnections = 0

    var status: Int { head.status }
    subscript(_ name: String) -> String? { head[name] }
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON.
    var json: JSONValue {
        get throws { try JSONValue(text: text) }
    }
}
