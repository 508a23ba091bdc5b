/// Decodes an event stream as it arrives (HTML standard §9.2.5–9.2.6).
///
/// Design: lines are found in the input and copied once; incomplete input is kept here, at most
/// `eventLimitBytes` for the line and the same for the data. The same bytes give the same events,
/// however they are split.
package struct EventStreamDecoder: Sendable {
    /// The id to send as Last-Event-ID when reconnecting: that of the last complete block. Empty
    /// before the first.
    package private(set) var lastEventID: String
    /// The last reconnection time in the stream, in milliseconds; nil if there was none.
    package private(set) var retryMilliseconds: Int?

    private let limit: Int
    private let reportsIDs: Bool
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    /// Whether the block has a data line; an empty one counts, too.
    private var hasData = false
    private var name = ""
    private var cause: String?
    /// The id in the current block; it applies when the block ends.
    private var pendingID: String
    private var hasID = false
    /// Whether the last byte was a CR, whose LF belongs to the same line end.
    private var endedInReturn = false
    private var isFirstLine = true
    private var failure: EventStreamFailure?

    /// - Parameters:
    ///   - lastEventID: The last id of a previous connection. Events without an id carry it, as
    ///     they do in browsers.
    ///   - eventLimitBytes: The largest line, and the largest data of one event. Default 16 MiB;
    ///     beyond it `receive` throws.
    ///   - reportsIDs: Whether a block with an id and without data is an event with an empty name
    ///     and no data. Browsers, and the default, dispatch nothing for it; a client of many
    ///     sessions needs each id, not only the last one.
    package init(
        lastEventID: String = "", eventLimitBytes: Int = 16_777_216, reportsIDs: Bool = false
    ) {
        self.lastEventID = lastEventID
        self.reportsIDs = reportsIDs
        pendingID = lastEventID
        limit = eventLimitBytes
    }

    /// Reads the next bytes and passes each completed event to the closure, in order. Throws
    /// `eventTooLarge`; every later call then throws it too.
    package mutating func receive(
        _ input: Span<UInt8>, _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamFailure) {
        if let failure { throw failure }
        var start = 0
        if endedInReturn, input.count > 0 {
            endedInReturn = false
            if input[0] == 0x0a { start = 1 }
        }
        while start < input.count {
            guard let end = input.firstLineBreak(in: start..<input.count) else {
                try extendLine(input, start..<input.count)
                return
            }
            try extendLine(input, start..<end)
            try endLine(onEvent)
            start = end + 1
            guard input[end] == 0x0d else { continue }
            if start == input.count {
                endedInReturn = true
            } else if input[start] == 0x0a {
                start += 1
            }
        }
    }

    private mutating func extendLine(
        _ input: Span<UInt8>, _ range: Range<Int>
    ) throws(EventStreamFailure) {
        guard line.count + range.count <= limit else { throw fail() }
        line.append(copying: input.extracting(range))
    }

    private mutating func fail() -> EventStreamFailure {
        let failure = EventStreamFailure.eventTooLarge(limit: limit)
        self.failure = failure
        line = []
        data = []
        return failure
    }

    private mutating func endLine(
        _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamFailure) {
        if isFirstLine {
            isFirstLine = false
            // HTML §9.2.5: one leading byte order mark is ignored.
            if line.starts(with: [0xef, 0xbb, 0xbf]) { line.removeFirst(3) }
        }
        if line.isEmpty {
            dispatch(onEvent)
            return
        }
        let colon = line.span.first(0x3a, in: 0..<line.count) ?? line.count
        var valueStart = min(colon + 1, line.count)
        if valueStart < line.count, line[valueStart] == 0x20 { valueStart += 1 }
        try readField(name: 0..<colon, value: valueStart..<line.count)
        line.removeAll(keepingCapacity: true)
    }

    /// HTML §9.2.6, "process the field"; and `cause`, which this service adds. Any other name,
    /// including an empty one (a comment), is ignored.
    private mutating func readField(
        name field: Range<Int>, value: Range<Int>
    ) throws(EventStreamFailure) {
        if isField("data", field) {
            guard data.count + value.count < limit else { throw fail() }
            data.append(contentsOf: line[value])
            data.append(0x0a)
            hasData = true
        } else if isField("event", field) {
            name = String(decoding: line[value], as: UTF8.self)
        } else if isField("id", field) {
            if !line[value].contains(0) {
                pendingID = String(decoding: line[value], as: UTF8.self)
                hasID = true
            }
        } else if isField("cause", field) {
            if !line[value].contains(0) { cause = String(decoding: line[value], as: UTF8.self) }
        } else if isField("retry", field) {
            if let time = line.span.decimal(in: value) { retryMilliseconds = time }
        }
    }

    /// Field names are compared case-sensitively.
    private func isField(_ name: String, _ range: Range<Int>) -> Bool {
        range.count == name.utf8.count && line[range].elementsEqual(name.utf8)
    }

    /// HTML §9.2.6, "dispatch the event": the id applies even if there is no event.
    private mutating func dispatch(_ onEvent: (ServerSentEvent) -> Void) {
        lastEventID = pendingID
        defer {
            name = ""
            cause = nil
            data.removeAll(keepingCapacity: true)
            hasData = false
            hasID = false
        }
        guard hasData else {
            if reportsIDs, hasID {
                onEvent(ServerSentEvent(name: "", data: "", lastEventID: lastEventID))
            }
            return
        }
        onEvent(
            ServerSentEvent(
                name: name.isEmpty ? "message" : name,
                data: String(decoding: data.dropLast(), as: UTF8.self),
                lastEventID: lastEventID, cause: cause))
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
