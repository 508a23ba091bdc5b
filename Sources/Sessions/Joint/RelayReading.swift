package import Feeds
internal import JSONCoding

/// Reads the stream of one session for a reader in this process. It is a machine: reports in, steps
/// out.
///
/// Design (ADR-0082): it has one relay (``StreamRelay``), like each session of a joint stream. The
/// relay may send ``windowBytes`` that the reader has not taken. Then it waits, as an offset in the
/// session's stream or in the journal. If it ends before the session does, the next relay continues
/// after the last block.
package struct RelayReading {
    package static let windowBytes = 64 << 10

    package enum Step {
        /// The next block. It counts as unread until ``wasRead()``.
        case block(RelayBlock)
        /// The session has ended, or does not exist.
        case over
        /// The events after the last block are no longer kept.
        case lost
        /// The relay has ended, but not the session: call ``open(_:)`` after this pause. It is not
        /// zero if the relay had a problem or sent nothing: the session cannot be read now.
        case reopen(after: Duration)
    }

    /// The pauses while a session cannot be read. Each is twice as long as the one before. Why: a
    /// session may stay quarantined until the program is replaced.
    package static let pauses = (first: Duration.milliseconds(250), longest: Duration.seconds(16))

    private let number: UInt64
    private let session: SessionID
    private let start: SubscriptionRequest.Start
    private let choose: RelayChoice.Chooser
    /// The maximum number of unread blocks.
    private let limit: Int

    private var attempt: UInt64 = 0
    private var blocks = RelayBlocks()
    /// Whether the present relay has sent something.
    private var isHeard = false
    private var end: RelayReport.End?
    /// The pause before the next relay, if the present one sends nothing.
    private var pause = Self.pauses.first
    /// Bytes for which the relay does not have credit yet.
    private var owedBytes = 0
    private var unread: UnreadBlocks
    /// The next block, while there is no room for it.
    private var held: RelayBlock?
    /// The id of the last block.
    private var position: String?

    /// - Parameters:
    ///   - number: unique in the process.
    ///   - work: counts the unread blocks of all readers.
    package init(
        _ number: UInt64, of session: SessionID, from start: SubscriptionRequest.Start,
        limit: Int, countedBy work: WorkBudget, choosing choose: @escaping RelayChoice.Chooser
    ) {
        self.number = number
        self.session = session
        self.start = start
        self.limit = limit
        unread = UnreadBlocks(work)
        self.choose = choose
    }

    private var key: RelayKey {
        RelayKey(loop: RelayKey.noLoop, stream: number, index: 0, attempt: attempt)
    }

    /// Whether a relay has sent something, or has ended.
    package var hasReported: Bool { isHeard || end != nil }

    /// Begins with the first relay, or continues with the next one. Returns the message to the
    /// session's loop.
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
        if !report.bytes.isEmpty { (isHeard, pause) = (true, Self.pauses.first) }
        end = report.end
    }

    /// The next step; nil: nothing has arrived, or there is no room for another unread block.
    package mutating func next() -> Step? {
        guard unread.count < limit else { return nil }
        while let block = held ?? blocks.next() {
            held = nil
            switch block.event {
            case "end": return .over
            // After any other reset, the present values follow.
            case "reset": if Self.isTrimmed(block) { return .lost }
            default:
                guard unread.add(block.data?.count ?? 0) else {
                    held = block
                    return nil
                }
                if let id = block.id { position = id }
                return .block(block)
            }
            if let id = block.id { position = id }
        }
        switch end.take() {
        case nil: return nil
        case .over: return .over
        case .finished where isHeard: return .reopen(after: .zero)
        case .finished, .problem:
            defer { pause = min(pause * 2, Self.pauses.longest) }
            return .reopen(after: pause)
        }
    }

    private static func isTrimmed(_ block: RelayBlock) -> Bool {
        let reason = block.data.flatMap(JSON.members(of:))?["reason"]
        return reason?.elementsEqual("\"\(ResetReason.trimmed.rawValue)\"".utf8) ?? false
    }

    /// The oldest unread block was read.
    ///
    /// - Returns: whether ``next()`` returned no block until now because there was no room.
    package mutating func wasRead() -> Bool {
        let hasWaited = unread.count == limit || held != nil
        unread.removeFirst()
        return hasWaited
    }

    /// The last block is not for this reader.
    package mutating func wasSkipped() { unread.removeLast() }

    /// The credit for the relay. Call it when there is no further step. Nil if the relay has enough
    /// credit, or the reader takes no more blocks. It is at least half a window. If a block is
    /// incomplete, it may be less, because the relay may have no credit for the rest of the block.
    package mutating func takeCredit() -> RelayRequest? {
        guard unread.count < limit, held == nil, end == nil, owedBytes > 0,
            owedBytes >= Self.windowBytes / 2 || !blocks.isBetweenBlocks
        else { return nil }
        defer { owedBytes = 0 }
        return .credit(key, bytes: owedBytes)
    }

    /// The message that ends the present relay.
    package var close: RelayRequest { .close(key) }
}
