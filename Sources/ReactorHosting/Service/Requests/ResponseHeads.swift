internal import Wire

/// The constant parts of responses' heads, and those that change once a second.
final class ResponseHeads {
    /// The journal's name, on every response about sessions (contract §4).
    let durability: (String, String)
    /// By the index of the request's origin, as the following two.
    private let common: [[(String, String)]]
    private let streams: [FieldLines]
    private let receipts: [FieldLines]
    private var dateLine: (second: Int64, bytes: [UInt8]) = (-1, [])
    /// By the index of the request's origin.
    private var receiptHeads: [(second: Int64, bytes: [UInt8])]

    init(_ origins: AllowedOrigins, journalName: String) {
        common = origins.fields
        let durability = ("Durability", journalName)
        self.durability = durability
        receipts = common.map {
            FieldLines(
                [("Content-Type", "application/json"), Response.isNotKept, durability] + $0)
        }
        receiptHeads = common.map { _ in (-1, []) }
        // Contract §3.2. The charset: without one, some readers decode text as Latin-1.
        // X-Accel-Buffering: otherwise nginx buffers events.
        streams = common.map {
            FieldLines(
                [
                    ("Content-Type", "text/event-stream; charset=utf-8"),
                    ("Cache-Control", "no-store, no-transform"), ("X-Accel-Buffering", "no"),
                ] + $0)
        }
    }

    func common(_ request: RequestContext) -> [(String, String)] { common[Int(request.origin)] }

    func stream(_ request: RequestContext) -> FieldLines { streams[Int(request.origin)] }

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
    func receiptHead(_ request: RequestContext, at milliseconds: Int64) -> [UInt8] {
        let (second, index) = (milliseconds / 1_000, Int(request.origin))
        if receiptHeads[index].second != second {
            var bytes: [UInt8] = []
            ResponseEncoder.appendHead(
                status: 200, lines: receipts[index], date: date(at: milliseconds), to: &bytes)
            receiptHeads[index] = (second, bytes)
        }
        return receiptHeads[index].bytes
    }
}
