/// A dispatched event, as an EventSource would see it.
struct Event: Equatable, Sendable {
    var name: String
    var data: String
    /// The last event id at the time of dispatch.
    var id: String
    /// The service's own field; EventSource does not show it.
    var cause: String?
}

/// An event stream parsed strictly by WHATWG HTML §9.2.6, written for these tests: it shares no
/// code with the decoder of `Wire`.
///
/// It also keeps items that EventSource does not show: comments, `retry` values, and blocks that
/// set the id and dispatch nothing.
struct EventParser: Sendable {
    enum Item: Equatable, Sendable {
        case event(Event)
        case comment(String)
        case retry(Int)
        /// A block without data set the last event id.
        case priming(String)
        /// A field that the standard does not know; a service should never send one.
        case unknown(String)
    }

    private var line: [UInt8] = []
    private var previousWasReturn = false
    private var isAtStart = true
    private var name = ""
    private var cause: String?
    private var data: [String] = []
    private(set) var lastID = ""
    private var blockSetID = false

    /// Parses bytes, split anywhere, and returns the items they complete.
    mutating func parse(_ bytes: some Sequence<UInt8>) -> [Item] {
        var items: [Item] = []
        for byte in bytes {
            defer { previousWasReturn = byte == 0x0d }
            switch byte {
            case 0x0a where previousWasReturn: break
            case 0x0a, 0x0d: endLine(&items)
            default: line.append(byte)
            }
        }
        return items
    }

    /// Bytes of an incomplete line: 0 when a stream was closed between two blocks.
    var unfinishedBytes: Int { line.count + data.count + name.utf8.count }

    private mutating func endLine(_ items: inout [Item]) {
        var text = String(decoding: line, as: UTF8.self)
        line.removeAll(keepingCapacity: true)
        // "One leading U+FEFF BYTE ORDER MARK character must be ignored if any are present."
        if isAtStart, text.unicodeScalars.first == "\u{feff}" { text.unicodeScalars.removeFirst() }
        isAtStart = false
        guard !text.isEmpty else { return endBlock(&items) }
        guard !text.hasPrefix(":") else { return items.append(.comment(String(text.dropFirst()))) }
        let scalars = text.unicodeScalars
        let colon = scalars.firstIndex(of: ":") ?? scalars.endIndex
        var value = scalars[colon...].dropFirst()
        if value.first == " " { value = value.dropFirst() }
        parse(field: String(scalars[..<colon]), String(value), &items)
    }

    private mutating func parse(field: String, _ value: String, _ items: inout [Item]) {
        switch field {
        case "event": name = value
        case "cause": cause = value
        case "data": data.append(value)
        case "id":
            guard !value.unicodeScalars.contains("\0") else { return }
            lastID = value
            blockSetID = true
        case "retry":
            if !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                items.append(.retry(Int(value) ?? .max))
            }
        default: items.append(.unknown(field))
        }
    }

    private mutating func endBlock(_ items: inout [Item]) {
        defer {
            name = ""
            cause = nil
            data = []
            blockSetID = false
        }
        guard !data.isEmpty else {
            if blockSetID { items.append(.priming(lastID)) }
            return
        }
        items.append(
            .event(
                Event(
                    name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"),
                    id: lastID, cause: cause)))
    }
}
