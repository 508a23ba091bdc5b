/// A request for a transport to carry.
public struct TransportRequest: Hashable, Sendable {
    /// Such as `POST`.
    public var method: String
    /// The whole address: `https://api.example.com/v1/sessions`.
    public var url: String
    /// A transport adds `Host`, `Content-Length` and the fields that its protocol needs.
    public var fields: [TransportField]
    /// Sent as it is, and with a `Content-Length`. A GET, HEAD or DELETE with an empty
    /// body has none.
    public var body: [UInt8]
    /// Whether the response has no end of its own. A transport that limits the number of requests
    /// under way does not count streams, so that they cannot hold up the others.
    public var isStream: Bool

    /// A request; nothing is checked before it is started.
    public init(
        _ method: String, _ url: String, fields: [TransportField] = [], body: [UInt8] = [],
        isStream: Bool = false
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.isStream = isStream
    }
}

/// A header field of a request or of a response.
public struct TransportField: Hashable, Sendable {
    /// In any case: a name of a response is written as it has arrived.
    public var name: String
    /// Without whitespace around it. Bytes of a response that are not UTF-8 are replaced.
    public var value: String

    /// A field; nothing is checked before the request is started.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension TransportRequest {
    /// Whether twice is the same as once: by its method (RFC 9110 §9.2.2), or by its key.
    var isRepeatable: Bool {
        guard method == "POST" || method == "PATCH" else { return true }
        return fields.contains { $0.isNamed("Idempotency-Key") }
    }
}

extension TransportField {
    /// - Parameter other: of ASCII, in any case.
    func isNamed(_ other: String) -> Bool {
        func lower(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        // Most names have the same case, so `==` is tried before the loop. The counts are compared
        // first, because Swift considers some longer characters equal to ones of ASCII.
        return name.utf8.count == other.utf8.count
            && (name == other
                || zip(name.utf8, other.utf8).allSatisfy { lower($0) == lower($1) })
    }
}
