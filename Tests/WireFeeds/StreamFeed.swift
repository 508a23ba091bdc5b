package import Wire

/// The result of decoding a stream.
package struct StreamReading: Equatable {
    package var events: [ServerSentEvent] = []
    package var lastEventID = ""
    package var retry: Int?
    package var failed = false
}

/// Decodes bytes in pieces that end at `cuts` (rising offsets) and at the end.
package func decode(
    _ bytes: [UInt8], cutAt cuts: [Int] = [], lastEventID: String = "", limit: Int = 1_000_000
) -> StreamReading {
    var decoder = EventStreamDecoder(lastEventID: lastEventID, eventLimitBytes: limit)
    var reading = StreamReading()
    var start = 0
    for end in cuts + [bytes.count] {
        let piece = Array(bytes[start..<end])
        start = end
        do {
            try decoder.receive(piece.span) { reading.events.append($0) }
        } catch {
            reading.failed = true
        }
    }
    reading.lastEventID = decoder.lastEventID
    reading.retry = decoder.retryMilliseconds
    return reading
}
