package import Feeds
internal import JSONCoding

/// Reads the stream of one session for a reader in this process, as a machine: reports in, steps
/// out.
///
/// Design (ADR-0082): it has a relay (``StreamRelay``), as a stream of several sessions has one for
/// each. The relay may send ``windowBytes`` that the reader has not taken; then it waits, as an
/// offset in the session's stream or in the journal. If it ends without the session's end, the next
/// one continues after the last block.
package struct RelayReading {
    package static let windowBytes = 64 << 10

    package enum Step {
        /// It counts as unread until ``wasRead()``.
        case block(RelayBlock)
        /// The session has ended, or there is none.
        case over
        /// The events after the last block are not kept any more.
        case lost
        /// The relay was given up: ``open(_:)`` has to follow. At once if that relay has sent
        /// something; else later, because the session cannot be read now.
        case reopen(atOnce: Bool)
    }

    private let number: UInt64
    private let session: SessionID
    private let start: SubscriptionRequest.Start
    private let choose: RelayChoice.Chooser
    /// The blocks that may be unread.
    private let limit: Int

    private var attempt: UInt64 = 0
    private var blocks = RelayBlocks()
    /// Whether the present relay has sent something.
    private var isHeard = false
    private var end: RelayReport.End?
    /// Bytes for which the relay does not have credit yet.
    private var owedBytes = 0
    private var unread = 0
    /// The id of the last block.
    private var position: String?

    /// - Parameter number: not used twice in the process.
    package init(
        _ number: UInt64, of session: SessionID, from start: SubscriptionRequest.Start,
        limit: Int, choosing choose: @escaping RelayChoice.Chooser
    ) {
        self.number = number
        self.session = session
        self.start = start
        self.limit = limit
        self.choose = choose
    }

    private var key: RelayKey {
        RelayKey(loop: RelayKey.noLoop, stream: number, index: 0, attempt: attempt)
    }

    /// Whether a relay has sent something, or has ended.
    package var hasReported: Bool { isHeard || end != nil }

    /// Begins with a relay, or continues with the next one. Returns the message to the session's
    /// loop.
    ///
    /// - Parameter receive: gets the relay's reports, on that loop.
    package mutating func open(
        _ receive: @escaping @Sendable (RelayReport) -> Void
    ) -> RelayRequest {
        attempt += 1
        (blocks, isHeard, end, owedBytes) = (RelayBlocks(), false, nil, 0)
        return .open(
            key,
            RelayOpening(
                session: session, start: position.map { .after($0) } ?? start,
                windowBytes: Self.windowBytes, client: nil, choose: choose, receive: receive))
    }

    package mutating func receive(_ report: RelayReport) {
        guard report.key == key else { return }
        blocks.append(report.bytes)
        owedBytes += report.bytes.count
        isHeard = isHeard || !report.bytes.isEmpty
        end = report.end
    }

    /// The next step; nil: nothing has arrived, or too many blocks are unread.
    package mutating func next() -> Step? {
        guard unread < limit else { return nil }
        while let block = blocks.next() {
            if let id = block.id { position = id }
            switch block.event {
            case "end": return .over
            // Otherwise the present values follow.
            case "reset": if Self.isTrimmed(block) { return .lost }
            default:
                unread += 1
                return .block(block)
            }
        }
        switch end.take() {
        case nil: return nil
        case .over: return .over
        case .finished: return .reopen(atOnce: isHeard)
        case .problem: return .reopen(atOnce: false)
        }
    }

    private static func isTrimmed(_ block: RelayBlock) -> Bool {
        let reason = block.data.flatMap(JSON.members(of:))?["reason"]
        return reason?.elementsEqual("\"\(ResetReason.trimmed.rawValue)\"".utf8) ?? false
    }

    /// A block was read, or is not for this reader.
    ///
    /// - Returns: whether ``next()`` had to wait for it.
    package mutating func wasRead() -> Bool {
        unread -= 1
        return unread == limit - 1
    }

    /// The credit for the relay, when there is no further step; nil: it has enough, or the reader
    /// takes no more. Half a window at least, or all of it if a block is not complete, because the
    /// relay may have no credit for its rest.
    package mutating func takeCredit() -> RelayRequest? {
        guard unread < limit, end == nil, owedBytes > 0,
            owedBytes >= Self.windowBytes / 2 || !blocks.isBetweenBlocks
        else { return nil }
        defer { owedBytes = 0 }
        return .credit(key, bytes: owedBytes)
    }

    /// The message that ends the present relay.
    package var close: RelayRequest { .close(key) }
}
