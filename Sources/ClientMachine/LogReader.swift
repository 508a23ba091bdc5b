/// Identifies a reader of an action log. The owner of a machine numbers them.
package struct LogID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// Entries, and their bytes.
package struct LogAmount: Equatable, Sendable {
    package var entries: Int
    package var bytes: Int

    package init(entries: Int = 0, bytes: Int = 0) {
        self.entries = entries
        self.bytes = bytes
    }
}

package struct LogReading: Equatable, Sendable {
    package enum Start: Equatable, Sendable {
        /// With the next entry.
        case now
        /// With everything that the server keeps.
        case start
        case after(StreamPosition)
    }

    package var session: SessionName
    package var start: Start
    /// Entries for which the reader has room, at least 1.
    package var limit: Int

    package init(_ session: SessionName, from start: Start, limit: Int) {
        self.session = session
        self.start = start
        self.limit = limit
    }
}

/// News of an action log for its reader.
package enum LogDelivery: Equatable, Sendable {
    case entry(StreamEvent)
    /// The following entries do not continue those before.
    case reset(reason: String)
    /// Nothing follows.
    case ended(EndReason)
    /// The server refuses to serve the log. Nothing follows.
    case failed(ProblemDetails)

    /// The room that it takes until it is read.
    package var amount: LogAmount {
        switch self {
        case .entry(let event): LogAmount(entries: 1, bytes: event.data.count)
        case .reset: LogAmount(entries: 1)
        case .ended, .failed: LogAmount()
        }
    }
}

/// The entries of an action log for one reader: each once, in order, as many as there is room for.
///
/// Design: a reader without room has no connection. To resume is exact and costs one request, so
/// nothing has to wait in between, neither here nor in the transport.
struct LogReader: Equatable, Sendable {
    let id: LogID
    let reading: LogReading
    private let bytesLimit: Int
    /// Everything up to here is delivered.
    private(set) var seen: StreamPosition?
    private var unread = LogAmount()
    /// There is no connection, because the reader has no room.
    var isPaused = false

    init(_ id: LogID, _ reading: LogReading, bytesLimit: Int) {
        self.id = id
        self.reading = reading
        self.bytesLimit = bytesLimit
        if case .after(let position) = reading.start { seen = position }
    }

    enum Result: Equatable {
        case nothing
        case deliver(LogDelivery)
        /// There is no room for the block, which is to come again.
        case full
        /// The block does not have the form that the server writes.
        case malformed(String)
    }

    /// The target that continues after everything that is delivered.
    var target: String {
        let path = "/v1/sessions/\(reading.session)/log?"
        if let seen { return path + "after=\(seen.text)" }
        return path + (reading.start == .start ? "from=start" : "from=now")
    }

    mutating func receive(_ block: StreamBlock) -> Result {
        switch block.name {
        case "ping": return .nothing
        case "end": return .deliver(.ended(block.endReason))
        default: break
        }
        guard let position = block.position else {
            return .malformed("the entry \(block.name) has no position")
        }
        if block.name == "reset" {
            return deliver(.reset(reason: block.reason ?? ""), seen: position)
        }
        if let seen, seen.generation != position.generation || seen.reaches(position) {
            return .nothing
        }
        if block.name.isEmpty {
            seen = position
            return .nothing
        }
        let event = StreamEvent(
            name: block.name, position: position, data: block.data, cause: block.cause)
        return deliver(.entry(event), seen: position)
    }

    private mutating func deliver(
        _ delivery: LogDelivery, seen position: StreamPosition?
    ) -> Result {
        guard unread.entries < reading.limit, unread.bytes < bytesLimit else { return .full }
        unread.entries += delivery.amount.entries
        unread.bytes += delivery.amount.bytes
        seen = position
        return .deliver(delivery)
    }

    /// The reader has read some of its deliveries. Returns whether it has room only now.
    mutating func read(_ amount: LogAmount) -> Bool {
        unread.entries -= amount.entries
        unread.bytes -= amount.bytes
        guard isPaused, unread.entries <= reading.limit / 2, unread.bytes <= bytesLimit / 2
        else { return false }
        isPaused = false
        return true
    }
}
