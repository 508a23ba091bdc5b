package import Wire

/// The result of reading a link's bytes.
package struct LinkReading: Equatable {
    package var frames: [LinkFrame] = []
    package var fault: LinkFault?
    /// Invariant of the reader, checked on the way: `offset` only grows and stays in the input, and
    /// all input is consumed unless a frame or a fault ends a call.
    package var offsetsWereSound = true

    package init(frames: [LinkFrame] = [], fault: LinkFault? = nil) {
        self.frames = frames
        self.fault = fault
    }
}

/// Reads the frames of bytes in pieces that end at `cuts` (rising offsets) and at the end.
package func readFrames(
    _ bytes: [UInt8], cutAt cuts: [Int] = [], payloadLimit: Int = 1_000
) -> LinkReading {
    var reader = LinkReader(payloadLimitBytes: payloadLimit)
    var reading = LinkReading()
    var start = 0
    for end in cuts + [bytes.count] {
        let piece = Array(bytes[start..<end])
        start = end
        var offset = 0
        do {
            while true {
                let before = offset
                let frame = try reader.next(piece.span, at: &offset)
                if offset < before || offset > piece.count { reading.offsetsWereSound = false }
                guard let frame else { break }
                reading.frames.append(frame)
            }
        } catch {
            reading.fault = error
            return reading
        }
        if offset != piece.count { reading.offsetsWereSound = false }
    }
    return reading
}
