/// Records of a followed session that its owner has committed: those after a position, up to
/// the newest one.
///
/// A node at that position shows them. For any other node they are a ``LinkHint``. They are sent
/// only to nodes that have declared that they accept them (``LinkFeatures/records``).
package struct LinkRecords: Equatable, Sendable {
    /// The most bytes of ``text``. Of more records a hint is sent.
    package static let textLimitBytes = 65_536

    /// The position that they continue.
    package var afterNumber: UInt64
    package var afterPart: UInt32
    /// The position of the last one.
    package var end: LinkHint
    package var version: UInt64
    /// The records, as the journal keeps them. Not empty.
    package var text: [UInt8]

    package init(
        afterNumber: UInt64, afterPart: UInt32, end: LinkHint, version: UInt64, text: [UInt8]
    ) {
        self.afterNumber = afterNumber
        self.afterPart = afterPart
        self.end = end
        self.version = version
        self.text = text
    }

    /// - Throws: ``LinkFault``: the payload is malformed, or has no text or too much.
    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .records)
        afterNumber = try payload.number()
        afterPart = try payload.number()
        version = try payload.number()
        end = try LinkHint(&payload, of: .records)
        text = payload.rest()
        guard (1...Self.textLimitBytes).contains(text.count) else { throw .malformed(.records) }
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.records, stream: stream, to: &out) { payload in
            payload.append(afterNumber)
            payload.append(afterPart)
            payload.append(version)
            end.append(to: &payload)
            payload.append(rest: text)
        }
    }

    /// Whether the others begin where these end.
    func isContinued(by next: LinkRecords) -> Bool {
        next.end.generation == end.generation && next.afterNumber == end.number
            && next.afterPart == end.part
    }

    /// - Precondition: The others begin where these end.
    mutating func append(_ next: LinkRecords) {
        text += next.text
        end = next.end
        version = next.version
    }
}

/// Messages that wait to be sent to the followers of a link: of each session its newest position,
/// with the records up to it or without.
///
/// Bounds: ``LinkRecords/textLimitBytes`` for a session, and ``limitBytes`` together. Beyond, and
/// after a hint, a session has a hint.
struct LinkNews: Sendable {
    private enum Item: Sendable {
        case hint(LinkHint)
        case records(LinkRecords)
    }

    private var items: [UInt32: Item] = [:]
    private var bytes = 0

    static let limitBytes = 1 << 20

    var count: Int { items.count }

    mutating func add(_ hint: LinkHint, _ stream: UInt32) {
        remove(stream)
        items[stream] = .hint(hint)
    }

    mutating func add(_ records: LinkRecords, _ stream: UInt32) {
        guard bytes + records.text.count <= Self.limitBytes else {
            return add(records.end, stream)
        }
        switch items.removeValue(forKey: stream) {
        case nil: items[stream] = .records(records)
        case .records(var earlier)?
        where earlier.isContinued(by: records)
            && earlier.text.count + records.text.count <= LinkRecords.textLimitBytes:
            earlier.append(records)
            items[stream] = .records(earlier)
        case .records(let earlier)?:
            bytes -= earlier.text.count
            items[stream] = .hint(records.end)
            return
        case .hint?:
            items[stream] = .hint(records.end)
            return
        }
        bytes += records.text.count
    }

    mutating func remove(_ stream: UInt32) {
        if case .records(let records)? = items.removeValue(forKey: stream) {
            bytes -= records.text.count
        }
    }

    /// Removes everything and appends it as frames.
    mutating func write(to out: inout [UInt8]) {
        for (stream, item) in items {
            switch item {
            case .hint(let hint): hint.append(stream: stream, to: &out)
            case .records(let records): records.append(stream: stream, to: &out)
            }
        }
        items.removeAll(keepingCapacity: items.count < 1_024)
        bytes = 0
    }
}
