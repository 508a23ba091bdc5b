import Testing

@testable import Wire

/// A request as a reader returned it, in comparable values.
struct ReadRequest: Equatable, CustomStringConvertible {
    var method: String
    var path: String
    var query: String?
    var minorVersion: Int
    var length: BodyLength
    var body: String
    var keepsAlive: Bool
    var expectsContinue: Bool
    var fields: [String]

    init(_ head: RequestHead, _ body: [UInt8]) {
        method = head.text(head.methodRange)
        path = head.text(head.path)
        query = head.query.map(head.text)
        minorVersion = head.minorVersion
        length = head.body
        self.body = String(decoding: body, as: UTF8.self)
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        fields = head.fieldLines.map { "\(head.text($0.name)):\(head.text($0.value))" }
    }

    var description: String {
        "\(method) \(path) \(query ?? "-") \(fields) \(length) \(body.debugDescription)"
    }
}

/// The result of reading a connection's bytes.
struct Reading: Equatable {
    var requests: [ReadRequest] = []
    var refusal: RequestRefusal?
    /// Whether the bytes end between two requests.
    var endsClean = true
    /// Invariant of the reader, checked on the way: `offset` only grows and stays in the input.
    var offsetsWereSound = true
}

/// Feeds bytes to a reader in pieces that end at `cuts` (rising offsets) and at the end.
///
/// - Parameter remembers: whether heads that are repeated are recognised.
func feed(
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

let nextRequest = "GET /next HTTP/1.1\r\nHost: next\r\n\r\n"

/// Reads the text whole, byte by byte, and followed by another request; all must agree.
@discardableResult
func threeWays(
    _ text: String, limits: RequestLimits = RequestLimits(),
    at location: SourceLocation = #_sourceLocation
) -> Reading {
    let bytes = Array(text.utf8)
    let whole = feed(bytes, limits: limits)
    #expect(whole.offsetsWereSound, sourceLocation: location)
    let single = feed(bytes, cutAt: Array(0..<bytes.count), limits: limits)
    #expect(single == whole, "byte by byte", sourceLocation: location)
    let trailing = feed(bytes + Array(nextRequest.utf8), limits: limits)
    if whole.refusal != nil {
        #expect(trailing == whole, "with bytes trailing", sourceLocation: location)
    } else if whole.endsClean {
        let next = feed(Array(nextRequest.utf8)).requests
        #expect(
            trailing.requests == whole.requests + next, "with bytes trailing",
            sourceLocation: location)
    }
    return whole
}

/// As `threeWays`, and cut in two at every position.
@discardableResult
func everyWay(
    _ text: String, limits: RequestLimits = RequestLimits(),
    at location: SourceLocation = #_sourceLocation
) -> Reading {
    let bytes = Array(text.utf8)
    let whole = threeWays(text, limits: limits, at: location)
    for cut in 0...bytes.count {
        #expect(
            feed(bytes, cutAt: [cut], limits: limits) == whole, "cut at \(cut)",
            sourceLocation: location)
    }
    return whole
}

/// The only request in the text, which must be read in every way.
func oneRequest(
    _ text: String, at location: SourceLocation = #_sourceLocation
) throws -> ReadRequest {
    let reading = everyWay(text, at: location)
    #expect(reading.refusal == nil, sourceLocation: location)
    #expect(reading.requests.count == 1, sourceLocation: location)
    return try #require(reading.requests.first, sourceLocation: location)
}
