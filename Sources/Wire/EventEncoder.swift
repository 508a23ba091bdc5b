/// Encodes Server-Sent Events (HTML standard §9.2.5, "Parsing an event stream").
///
/// Design: functions append to the caller's bytes: a line each, and `appendEnd` the blank line that
/// dispatches. Lines end in LF; a reader removes the one space after each colon.
///
/// Names, ids and causes belong to the service and must contain no line break (an id also no NUL,
/// because readers would ignore the id): a violation traps. Data may be any bytes.
package enum EventEncoder {
    private static let event: [UInt8] = Array("event: ".utf8)
    private static let id: [UInt8] = Array("id: ".utf8)
    private static let cause: [UInt8] = Array("cause: ".utf8)
    private static let data: [UInt8] = Array("data: ".utf8)
    private static let retry: [UInt8] = Array("retry: ".utf8)

    /// Appends a whole event: `event`, `id`, `cause`, `data`, blank line.
    ///
    /// - Parameters:
    ///   - id: the position, or nil for an event that leaves Last-Event-ID as it is.
    ///   - cause: the key of the request that has led to the event, if it is named.
    package static func appendEvent(
        name: [UInt8], id: [UInt8]?, cause: [UInt8]? = nil, data: [UInt8], to out: inout [UInt8]
    ) {
        appendName(name, to: &out)
        if let id { appendID(id, to: &out) }
        if let cause { appendLine(Self.cause, cause, to: &out) }
        appendData(data.span, to: &out)
        appendEnd(to: &out)
    }

    package static func appendName(_ name: [UInt8], to out: inout [UInt8]) {
        appendLine(event, name, to: &out)
    }

    package static func appendID(_ id: [UInt8], to out: inout [UInt8]) {
        appendLine(Self.id, id, to: &out)
    }

    /// Appends data as one `data` line for each of its lines; CR LF, CR and LF each end a line, as
    /// they do for the reader, which receives LF for each. Empty data is one empty line.
    package static func appendData(_ data: Span<UInt8>, to out: inout [UInt8]) {
        var start = 0
        while true {
            let end = data.firstLineBreak(in: start..<data.count)
            out.append(contentsOf: Self.data)
            out.append(copying: data.extracting(start..<(end ?? data.count)))
            out.append(0x0a)
            guard let end else { return }
            let pair = data[end] == 0x0d && end + 1 < data.count && data[end + 1] == 0x0a
            start = end + (pair ? 2 : 1)
        }
    }

    /// Appends the blank line that dispatches the preceding lines.
    package static func appendEnd(to out: inout [UInt8]) {
        out.append(0x0a)
    }

    /// Appends the time for which a reader waits before it reconnects.
    ///
    /// It applies as soon as it is read (HTML §9.2.6), regardless of the rest of its block.
    package static func appendRetry(milliseconds: Int, to out: inout [UInt8]) {
        out.append(contentsOf: retry)
        Decimal.append(UInt64(max(milliseconds, 0)), to: &out)
        out.append(0x0a)
    }

    private static func appendLine(
        _ field: [UInt8], _ value: [UInt8], to out: inout [UInt8]
    ) {
        let start = out.count
        out.append(contentsOf: field)
        out.append(contentsOf: value)
        check(out.span, from: start)
        out.append(0x0a)
    }

    private static func check(_ out: Span<UInt8>, from start: Int) {
        for index in start..<out.count {
            precondition(
                out[index] != 0x0a && out[index] != 0x0d && out[index] != 0,
                "An event's name or id has no line break and no NUL.")
        }
    }
}

extension Span<UInt8> {
    func firstLineBreak(in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index &+ 8 <= range.upperBound {
            let word = word(at: index)
            // Each match may have wrong bits above its first one, so the lower first match is used.
            let matches = Lanes.equal(word, to: 0x0a) | Lanes.equal(word, to: 0x0d)
            if matches != 0 { return index &+ Lanes.index(matches) }
            index &+= 8
        }
        while index < range.upperBound {
            if self[index] == 0x0a || self[index] == 0x0d { return index }
            index &+= 1
        }
        return nil
    }
}
