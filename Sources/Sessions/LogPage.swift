internal import Feeds
internal import Storage

/// A page of an action log: `{"entries":[…],"next":…}`. If the log cannot continue at the requested
/// position, the page begins with the oldest kept entry, and the object with
/// `"reset":{"reason":…}`.
///
/// `next` is the position after which the next page begins; absent if there is no next page.
struct LogPage {
    /// For a page for which there is room.
    static let limitBytes = 1_048_576

    private var body = Array("{".utf8)
    private let limit: Int
    private let limitBytes: Int
    private let start: HistoryPosition
    /// Entries up to here are in the page, or are not shown by the log.
    private var reached: HistoryPosition
    private var count = 0

    /// - Parameter limitBytes: the page ends with the entry that reaches it.
    init(after start: HistoryPosition, limit: Int, limitBytes: Int, reset: ResetReason?) {
        self.start = start
        self.limit = limit
        self.limitBytes = limitBytes
        reached = start
        if let reset {
            body.append(contentsOf: "\"reset\":{\"reason\":\"\(reset.rawValue)\"},".utf8)
        }
        body.append(contentsOf: "\"entries\":[".utf8)
    }

    /// Appends the next entry.
    ///
    /// - Parameter line: nil if the log does not show the entry.
    /// - Returns: false if the page is full.
    mutating func append(
        _ line: ActionLogLine?, at position: HistoryPosition, _ generation: Generation
    ) -> Bool {
        if let line {
            guard count < limit, body.count < limitBytes else { return false }
            if count > 0 { body.append(UInt8(ascii: ",")) }
            line.append(generation, to: &body)
            count += 1
        }
        reached = position
        return true
    }

    /// - Parameter end: the newest position that may be shown. A page without an entry has no next
    ///   page.
    consuming func finish(through end: HistoryPosition, _ generation: Generation) -> [UInt8] {
        body.append(UInt8(ascii: "]"))
        if reached > start, reached < end {
            body.append(contentsOf: ",\"next\":\"\(Position(generation, reached).text)\"".utf8)
        }
        body.append(contentsOf: "}\n".utf8)
        return body
    }
}
