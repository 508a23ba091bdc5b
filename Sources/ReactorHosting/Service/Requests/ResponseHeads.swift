internal import Sessions
internal import Wire

/// The constant parts of responses' heads, and those that change once a second.
final class ResponseHeads {
    /// The fields of every response.
    let commonFields: [(String, String)]
    /// The journal's name, on every response about sessions (contract §4).
    let durability: (String, String)
    /// The field lines of an event stream's head.
    let stream: FieldLines
    /// The field lines of the response to posted actions.
    private let receipt: FieldLines
    private var dateLine: (second: Int64, bytes: [UInt8]) = (-1, [])
    private var receiptHead: (second: Int64, bytes: [UInt8]) = (-1, [])

    /// Fields that a browser may send with a request from another origin.
    static let allowedHeaders =
        "Content-Type, Last-Event-ID, If-Match, If-None-Match, Idempotency-Key, traceparent"
    private static let exposedHeaders =
        "ETag, Location, Durability, Retry-After, Allow, traceparent, Idempotency-Replayed"

    init(_ service: Service) {
        var common: [(String, String)] = []
        if let origin = service.configuration.allowedOrigin {
            common.append(("Access-Control-Allow-Origin", origin))
            common.append(("Access-Control-Expose-Headers", Self.exposedHeaders))
            if origin != "*" { common.append(("Vary", "Origin")) }
        }
        commonFields = common
        durability = ("Durability", service.journalName)
        receipt = FieldLines([("Content-Type", "application/json"), durability] + common)
        // Contract §3.2. X-Accel-Buffering: otherwise nginx buffers events.
        stream = FieldLines(
            [
                ("Content-Type", "text/event-stream"),
                ("Cache-Control", "no-store, no-transform"), ("X-Accel-Buffering", "no"),
            ] + common)
    }

    /// The value of `Date`, formatted once a second (RFC 9110 §6.6.1).
    ///
    /// - Parameter milliseconds: The wall clock, since 1970.
    func date(at milliseconds: Int64) -> [UInt8] {
        let second = milliseconds / 1_000
        if dateLine.second != second {
            var bytes: [UInt8] = []
            HTTPDate.append(secondsSinceEpoch: second, to: &bytes)
            dateLine = (second, bytes)
        }
        return dateLine.bytes
    }

    /// The beginning of the response to posted actions, encoded once a second.
    func receiptHead(at milliseconds: Int64) -> [UInt8] {
        let second = milliseconds / 1_000
        if receiptHead.second != second {
            var bytes: [UInt8] = []
            ResponseEncoder.appendHead(
                status: 200, lines: receipt, date: date(at: milliseconds), to: &bytes)
            receiptHead = (second, bytes)
        }
        return receiptHead.bytes
    }
}
