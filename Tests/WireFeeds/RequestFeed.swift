package import Wire

/// A request as a reader returned it, in comparable values.
package struct ReadRequest: Equatable, CustomStringConvertible {
    package var method: String
    package var path: String
    package var query: String?
    package var minorVersion: Int
    package var length: BodyLength
    package var body: String
    package var keepsAlive: Bool
    package var expectsContinue: Bool
    package var fields: [String]
    /// Head and body as they were read, which the texts above show only as far as they are UTF-8.
    package var bytes: [UInt8]

    package init(_ head: RequestHead, _ body: [UInt8]) {
        method = head.text(head.methodRange)
        path = head.text(head.path)
        query = head.query.map(head.text)
        minorVersion = head.minorVersion
        length = head.body
        self.body = String(decoding: body, as: UTF8.self)
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        fields = head.fieldLines.map { "\(head.text($0.name)):\(head.text($0.value))" }
        bytes = head.bytes + body
    }

    package var description: String {
        "\(method) \(path) \(query ?? "-") \(fields) \(length) \(body.debugDescription)"
    }
}

/// The result of reading a connection's bytes.
package struct Reading: Equatable {
    package var requests: [ReadRequest] = []
    package var refusal: RequestRefusal?
    /// Whether the bytes end between two requests.
    package var endsClean = true
    /// Invariant of the reader, checked on the way: `offset` only grows and stays in the input.
    package var offsetsWereSound = true
}

/// Feeds bytes to a reader in pieces that end at `cuts` (rising offsets) and at the end.
///
/// - Parameter remembers: whether heads that are repeated are recognised.
package func feed(
    _ bytes: [UInt8], cutAt cuts: [Int] = [], limits: RequestLimits = RequestLimits(),
    remembers: Bool = false
) -> Reading {
    var repeated = RepeatedHead()
    var reader = RequestReader(limits: limits)
    var head = RequestHead()
    var body: [UInt8] = []
    var reading = Reading()
    var start = 0
    for end in cuts + [bytes.count] {
        let piece = Array(bytes[start..<end])
        start = end
        var offset = 0
        do {
            var progress = RequestReader.Progress.complete
            while offset < piece.count || progress == .complete {
                let before = offset
                if remembers {
                    progress = try reader.next(
                        piece.span, at: &offset, head: &head, body: &body, repeated: &repeated)
                } else {
                    progress = try reader.next(
                        piece.span, at: &offset, head: &head, body: &body)
                }
                if offset < before || offset > piece.count { reading.offsetsWereSound = false }
                if progress == .complete { reading.requests.append(ReadRequest(head, body)) }
                if progress != .complete, offset != piece.count {
                    reading.offsetsWereSound = false
                }
                if offset == piece.count { break }
            }
        } catch {
            reading.refusal = error
            reading.endsClean = false
            return reading
        }
    }
    reading.endsClean = reader.isBetweenRequests
    return reading
}
