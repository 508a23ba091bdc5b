internal import Logging
internal import Sockets
internal import Wire

/// The names of a connection's current request in log lines: its id, its trace and its peer.
///
/// Design: nearly all requests leave no line, so the fields are only copied when the request is
/// read, and checked when a line is written. A request without them costs two tests of a bit; one
/// with them reuses the memory of the one before.
struct RequestIdentity {
    /// The longest `X-Request-Id` that is used; a longer one is ignored.
    static let idLimitBytes = 128
    /// `TraceParent` needs no more bytes of the field.
    private static let traceLimitBytes = 56

    var peer = PeerAddress.local
    /// `X-Request-Id` or the generated id, then `traceparent`; both as received.
    private var bytes: [UInt8] = []
    private var idCount = 0

    /// Copies the fields of a request, in place of those of the request before.
    mutating func record(_ head: RequestHead) {
        let id = head.range(of: .xRequestID)
        let trace = head.range(of: .traceparent)
        guard id != nil || trace != nil || !bytes.isEmpty else { return }
        bytes.removeAll(keepingCapacity: true)
        if let id, id.count <= Self.idLimitBytes { bytes.append(contentsOf: head.bytes[id]) }
        idCount = bytes.count
        if let trace { bytes.append(contentsOf: head.bytes[trace].prefix(Self.traceLimitBytes)) }
    }

    /// For bytes that are not a request.
    mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        idCount = 0
    }

    /// The metadata of each line about the request: `peer`, `request_id`, and `trace_id` if there
    /// is one. (A `subject` belongs here as soon as requests have one.)
    ///
    /// - Parameter generate: Makes an id, for a request whose client has sent none that is well
    ///   formed: 1 to 128 visible ASCII characters. All lines of the request have the same id.
    mutating func metadata(generating generate: () -> String) -> Logger.Metadata {
        if idCount == 0 || !bytes[..<idCount].allSatisfy({ (0x21...0x7E).contains($0) }) {
            let trace = bytes[idCount...]
            bytes = Array(generate().utf8)
            idCount = bytes.count
            bytes += trace
        }
        var metadata: Logger.Metadata = [
            "peer": "\(peer)",
            "request_id": "\(String(decoding: bytes[..<idCount], as: UTF8.self))",
        ]
        if let trace = TraceParent(String(decoding: bytes[idCount...], as: UTF8.self)) {
            metadata["trace_id"] = "\(trace.traceID)"
        }
        return metadata
    }
}
