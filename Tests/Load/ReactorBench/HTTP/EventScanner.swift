// Server-Sent Events as far as the checks need them: blocks and their four fields, split at any
// point. Source: WHATWG HTML §9.2.6. One deviation: a lone CR does not end a line. No relevant
// server writes one, and two searches per line would double the cost of the check.

/// Splits a stream into blocks.
struct EventScanner {
    /// The longest incomplete block that is kept; a longer one is dropped and counted as a fault.
    static let blockLimitBytes = 16 << 20

    /// The beginning of a block that is not complete yet.
    private var partial: [UInt8] = []
    /// The start of the last, incomplete line of `partial`.
    private var partialLineStart = 0

    /// Scans `range` of `bytes` and passes every complete block to `sink`.
    ///
    /// Returns false if a block exceeded the limit and was dropped.
    @inline(__always)
    mutating func scan(
        _ bytes: Span<UInt8>, range: Range<Int>, into sink: inout some EventSink
    ) -> Bool {
        let piece = bytes.extracting(range)
        var position = 0
        if !partial.isEmpty {
            position = completePartial(piece, into: &sink)
        }
        while position < piece.count {
            if let end = sink.recognise(piece, at: position) {
                position = end
                continue
            }
            guard let end = Self.block(piece, from: position, into: &sink) else {
                partial.append(piece, in: position..<piece.count)
                partialLineStart = (partial.lastIndex(of: 0x0A) ?? -1) + 1
                break
            }
            position = end
        }
        guard partial.count > Self.blockLimitBytes else { return true }
        partial = []
        partialLineStart = 0
        return false
    }

    /// Reads one block at `start`; returns nil if its end is not in `bytes`.
    @inline(__always)
    private static func block(
        _ bytes: Span<UInt8>, from start: Int, into sink: inout some EventSink
    ) -> Int? {
        var block = EventBlock()
        var lineStart = start
        while let newline = bytes.firstOffset(of: 0x0A, from: lineStart) {
            var lineEnd = newline
            if lineEnd > lineStart, bytes[lineEnd - 1] == 0x0D { lineEnd -= 1 }
            if lineEnd == lineStart {
                // A blank line after a blank line ends no block.
                if lineStart > start {
                    sink.receive(block, in: bytes, range: start..<newline + 1)
                }
                return newline + 1
            }
            field(bytes, lineStart..<lineEnd, &block)
            lineStart = newline + 1
        }
        return nil
    }

    @inline(__always)
    private static func field(
        _ bytes: Span<UInt8>, _ line: Range<Int>, _ block: inout EventBlock
    ) {
        switch bytes[line.lowerBound] {
        case 0x64:
            guard let value = value(bytes, line, "data:") else { return }
            block.data = (block.data?.lowerBound ?? value.lowerBound)..<value.upperBound
        case 0x69:
            if let value = value(bytes, line, "id:") { block.id = value }
        case 0x65:
            if let value = value(bytes, line, "event:") { block.event = value }
        default:
            break
        }
    }

    @inline(__always)
    private static func value(
        _ bytes: Span<UInt8>, _ line: Range<Int>, _ name: StaticString
    ) -> Range<Int>? {
        guard bytes.hasPrefix(name, at: line.lowerBound) else { return nil }
        var start = line.lowerBound + name.utf8CodeUnitCount
        guard start <= line.upperBound else { return nil }
        if start < line.upperBound, bytes[start] == 0x20 { start += 1 }
        return start..<line.upperBound
    }

    // MARK: Blocks that arrive in pieces

    /// Adds lines to the incomplete block; returns the number of bytes used.
    private mutating func completePartial(
        _ bytes: Span<UInt8>, into sink: inout some EventSink
    ) -> Int {
        var position = 0
        while position < bytes.count {
            guard let newline = bytes.firstOffset(of: 0x0A, from: position) else {
                partial.append(bytes, in: position..<bytes.count)
                return bytes.count
            }
            partial.append(bytes, in: position..<newline + 1)
            position = newline + 1
            let length = partial.count - partialLineStart
            let isBlank = length == 1 || (length == 2 && partial[partialLineStart] == 0x0D)
            partialLineStart = partial.count
            guard isBlank else { continue }
            let whole = partial
            partial = []
            partialLineStart = 0
            _ = Self.block(whole.span, from: 0, into: &sink)
            return position
        }
        return position
    }
}
