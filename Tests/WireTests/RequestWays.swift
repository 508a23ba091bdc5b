import Testing
import WireFeeds

@testable import Wire

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
