internal import Logging
internal import Sockets
internal import Wire

/// The names of a connection's current request in log lines: its id, its trace and its peer.
///
/// Design: nearly all requests leave no line, so the fields are copied when the request is read,
/// and checked when a line is written. A request without them costs two tests of a bit.
struct RequestIdentity {
    /// The longest `X-Request-Id` that is used; a longer one is ignored.
    static let idLimitBytes = 128
    /// `TraceParent` needs no more bytes of the field.
    private static let traceLimitBytes = 56

    var peer = PeerAddress.local
    var listener = ListenerRole.main
    /// The client; nil before it is verified, and without an authenticator.
    var access: Access?
    /// `X-Request-Id` or the generated id, then `traceparent`; both as received.
    private var bytes: [UInt8] = []
    private var idCount = 0
    /// The client that the trusted proxy at the other end has named; nil if the peer is none.
    private var clientOfProxy: PeerAddress?
    /// Method and path with a space between them, as received, for the access log; else empty.
    private var line: [UInt8] = []

    /// Copies the fields of a request, in place of those of the request before.
    ///
    /// - Parameter proxies: The trusted ones; nil to trust none.
    mutating func record(
        _ head: RequestHead, withLine: Bool, behind proxies: ClientAddress? = nil
    ) {
        if access != nil { access = nil }
        clientOfProxy =
            proxies.flatMap { $0.isProxy(peer) ? $0.find(head, peer: peer) : nil }
        if withLine { recordLine(head) }
        let id = head.range(of: .xRequestID)
        let trace = head.range(of: .traceparent)
        guard id != nil || trace != nil || !bytes.isEmpty else { return }
        bytes.removeAll(keepingCapacity: true)
        if let id, id.count <= Self.idLimitBytes { bytes.append(contentsOf: head.bytes[id]) }
        idCount = bytes.count
        if let trace { bytes.append(contentsOf: head.bytes[trace].prefix(Self.traceLimitBytes)) }
    }

    /// The server's own `traceparent`, for a request that has none.
    mutating func recordTrace(_ traceparent: String?) {
        guard let traceparent, trace == nil else { return }
        bytes.removeSubrange(idCount...)
        bytes.append(contentsOf: traceparent.utf8.prefix(Self.traceLimitBytes))
    }

    private var trace: TraceParent? {
        TraceParent(String(decoding: bytes[idCount...], as: UTF8.self))
    }

    /// The access log is off: if it is on again, the next request must not have this one's line.
    mutating func forgetLine() { line = [] }

    /// The query is left out, because it may have secrets.
    private mutating func recordLine(_ head: RequestHead) {
        line.removeAll(keepingCapacity: true)
        line.append(contentsOf: head.bytes[head.methodRange])
        line.append(UInt8(ascii: " "))
        line.append(contentsOf: head.bytes[head.path].prefix(LogLine.valueLimitBytes + 1))
    }

    mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        line.removeAll(keepingCapacity: true)
        idCount = 0
        access = nil
        clientOfProxy = nil
    }

    var client: PeerAddress { clientOfProxy ?? peer }

    var methodAndPath: (method: String, path: String) {
        let end = line.firstIndex(of: UInt8(ascii: " ")) ?? line.endIndex
        return (
            String(decoding: line[..<end], as: UTF8.self),
            String(decoding: line[end...].dropFirst(), as: UTF8.self)
        )
    }

    /// The metadata of each line about the request; `trace_id` and `subject` if there are any.
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
            "client": "\(client.host)",
            "request_id": "\(String(decoding: bytes[..<idCount], as: UTF8.self))",
        ]
        if let trace {
            metadata["trace_id"] = "\(trace.traceID)"
        }
        if let subject = access?.subject { metadata["subject"] = "\(subject)" }
        return metadata
    }
}
