/// Decodes the chunked transfer coding as it arrives (RFC 9112 §7.1).
///
/// Design: one byte of state and two numbers; framing is read byte by byte, data is copied piece by
/// piece. Extensions and trailers are checked, counted and dropped.
struct ChunkReader: Sendable {
    private enum Part: UInt8 {
        case sizeStart
        case size
        /// RFC 9112 §7.1.1: "bad white space", allowed before an extension only.
        case spaceBehindSize
        case `extension`
        case sizeFeed
        case data
        case dataReturn
        case dataFeed
        case trailerStart
        case trailerName
        case trailerValue
        case trailerFeed
        case lastFeed
    }

    private var part = Part.sizeStart
    private var extensions = ChunkExtension()
    /// Invariant: at most 16 in `size`, so that leading zeros cannot continue for ever.
    private var digits: UInt8 = 0
    private var extensionBytes: UInt32 = 0
    private var trailerBytes: UInt32 = 0
    /// The chunk's size while it is read, then the rest of its data.
    private var remaining = 0

    /// Reads from `offset` on and appends data to `body`; returns true once the last byte of the
    /// coding is read. It reads nothing beyond it.
    mutating func next(
        _ input: Span<UInt8>, at offset: inout Int, into body: inout [UInt8],
        limits: RequestLimits
    ) throws(RequestRefusal) -> Bool {
        var room = limits.bodyBytes - body.count
        while offset < input.count {
            if part == .data {
                let count = min(remaining, input.count - offset)
                body.append(copying: input.extracting(offset..<(offset + count)))
                offset += count
                remaining -= count
                room -= count
                if remaining == 0 { part = .dataReturn }
                continue
            }
            let byte = input[offset]
            offset += 1
            if part == .lastFeed {
                guard byte == 0x0a else { throw .malformedTrailer }
                return true
            }
            try read(byte, room: room, limits: limits)
        }
        return false
    }

    private mutating func read(
        _ byte: UInt8, room: Int, limits: RequestLimits
    ) throws(RequestRefusal) {
        switch part {
        case .sizeStart, .size, .spaceBehindSize, .extension, .sizeFeed:
            try readSizeLine(byte, room: room, limits: limits)
        case .dataReturn:
            guard byte == 0x0d else { throw .chunkTooLong }
            part = .dataFeed
        case .dataFeed:
            guard byte == 0x0a else { throw .chunkTooLong }
            part = .sizeStart
        case .trailerStart, .trailerName, .trailerValue, .trailerFeed:
            trailerBytes += 1
            guard trailerBytes <= limits.trailerBytes else {
                throw .trailerTooLarge(limit: limits.trailerBytes)
            }
            try readTrailer(byte)
        case .data, .lastFeed:
            preconditionFailure("next reads these parts itself")
        }
    }

    private mutating func readSizeLine(
        _ byte: UInt8, room: Int, limits: RequestLimits
    ) throws(RequestRefusal) {
        switch (part, byte) {
        case (.sizeStart, _):
            remaining = 0
            digits = 0
            try readDigit(byte, room: room, limits)
            part = .size
        case (.sizeFeed, _):
            guard byte == 0x0a else { throw .malformedChunkSize }
            part = remaining == 0 ? .trailerStart : .data
        case (.size, 0x0d):
            part = .sizeFeed
        case (.extension, 0x0d):
            guard extensions.isComplete else { throw .malformedChunkExtension }
            part = .sizeFeed
        case (.extension, _):
            guard extensions.accepts(byte) else { throw .malformedChunkExtension }
            try countExtension(limits)
        case (_, 0x3b):
            try countExtension(limits)
            extensions = ChunkExtension()
            part = .extension
        case (_, 0x20), (_, 0x09):
            try countExtension(limits)
            part = .spaceBehindSize
        default:
            guard part == .size else { throw .malformedChunkSize }
            try readDigit(byte, room: room, limits)
        }
    }

    private mutating func countExtension(_ limits: RequestLimits) throws(RequestRefusal) {
        extensionBytes += 1
        guard extensionBytes <= limits.chunkExtensionBytes else {
            throw .chunkExtensionsTooLarge(limit: limits.chunkExtensionBytes)
        }
    }

    /// RFC 9112 §7.1: a size must not overflow. A size beyond the room is refused at the digit that
    /// exceeds it, long before an overflow.
    private mutating func readDigit(
        _ byte: UInt8, room: Int, _ limits: RequestLimits
    ) throws(RequestRefusal) {
        guard let value = ByteClass.hexValue(byte), digits < 16 else { throw .malformedChunkSize }
        digits += 1
        // Before the shift, which may overflow.
        guard remaining <= room &>> 4 else { throw .bodyTooLarge(limit: limits.bodyBytes) }
        remaining = remaining &<< 4 | Int(value)
        guard remaining <= room else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    }

    private mutating func readTrailer(_ byte: UInt8) throws(RequestRefusal) {
        switch part {
        case .trailerStart:
            if byte == 0x0d {
                part = .lastFeed
            } else {
                guard ByteClass.token.contains(byte) else { throw .malformedTrailer }
                part = .trailerName
            }
        case .trailerName:
            if byte == 0x3a {
                part = .trailerValue
            } else {
                guard ByteClass.token.contains(byte) else { throw .malformedTrailer }
            }
        case .trailerValue:
            if byte == 0x0d {
                part = .trailerFeed
            } else {
                guard ByteClass.isFieldValue(byte) else { throw .malformedTrailer }
            }
        default:
            guard byte == 0x0a else { throw .malformedTrailer }
            part = .trailerStart
        }
    }
}
