internal import Wire

/// One session of a stream of several, on the loop of the stream.
struct JointFeed {
    private enum Phase {
        /// A relay sends bytes, or has sent its last ones.
        case subscribed
        /// The session cannot be read now.
        case waiting
        /// The `end` was sent.
        case over
    }

    private var phase: Phase
    /// The number of relays so far.
    private(set) var attempts: UInt64 = 0
    /// Bytes that wait for the connection. Invariant: they, the bytes on the way, the relay's
    /// credit and `owed` are one window.
    private(set) var pending: ArraySlice<UInt8> = []
    /// The number of written bytes whose credit the relay has not got back yet. Negative: the relay
    /// has more credit than the window, because a name is longer than the window.
    private var owed = 0
    /// The number of bytes still to write of a block that is written in part, including the line
    /// end of its chunk.
    private var restCount = 0
    /// The relay has ended. The client sees this after `pending`.
    private var end: RelayReport.End?
    /// Whether the session is in the queue of those with work.
    var isReady = false
    /// Whether a relay that was given up is replaced at once. Not always, because a session whose
    /// relays all fail would occupy both loops.
    var mayRetryAtOnce = true
    private(set) var hasReported = false
    private(set) var wasFound = false
    private(set) var hasProblem = false

    /// The bytes of a turn. Whole blocks are written, so a turn may exceed it by one.
    private static let turnBytes = 8 << 10

    init(isOver: Bool) {
        phase = isOver ? .over : .subscribed
        hasReported = isOver
    }

    var isSubscribed: Bool { if case .subscribed = phase { true } else { false } }
    var isWaiting: Bool { if case .waiting = phase { true } else { false } }
    var isOver: Bool { if case .over = phase { true } else { false } }
    /// Whether the output ends with a whole block, so that other sessions may write theirs.
    var isBetweenEvents: Bool { restCount == 0 }

    mutating func beginAttempt() {
        attempts += 1
        phase = .subscribed
        restCount = 0
        owed = 0
        end = nil
    }

    mutating func receive(_ report: inout RelayReport) {
        hasReported = hasReported || report.knownPulses != nil || report.end != nil
        wasFound = wasFound || report.knownPulses != nil
        if pending.isEmpty { pending = report.bytes[...] } else { pending += report.bytes }
        if let ended = report.end {
            end = ended
            if case .problem = ended { hasProblem = true }
        }
    }

    /// The client may not read the session: it gets no relay.
    mutating func refuse(_ reason: StreamEndReason) {
        hasReported = true
        end = .over(reason)
    }

    /// Whether there is something to write now.
    func hasWork(windowBytes: Int) -> Bool {
        end != nil || (isBetweenEvents ? nextHead(windowBytes) != nil : !pending.isEmpty)
    }

    /// The head of the next block; nil if the block may not be started. Other sessions would wait
    /// for the rest of an incomplete block. So a block is started only when it is whole, or when it
    /// fills the window.
    private func nextHead(_ windowBytes: Int) -> EventHead? {
        guard let head = EventHead(pending) else { return nil }
        let isWhole = pending.count >= head.byteCount + head.restCount
        return isWhole || (end == nil && pending.count >= windowBytes) ? head : nil
    }

    /// Appends whole blocks, or parts of a block that exceeds the window.
    mutating func write(
        of index: Int, _ ids: inout JointIDs, to out: inout [UInt8], windowBytes: Int
    ) {
        // A limit for the output, not for the input, because the vector of a small event is larger
        // than the event.
        let limit = out.count + Self.turnBytes
        while out.count < limit, !pending.isEmpty {
            if isBetweenEvents {
                guard let head = nextHead(windowBytes) else { break }
                ids.append(head, of: index, to: &out)
                dropPending(head.byteCount)
                restCount = head.restCount
            }
            writeRest(to: &out)
        }
        guard isBetweenEvents else { return }
        // The relay was given up: the rest of this block will never come.
        if end != nil, nextHead(windowBytes) == nil { pending = [] }
        guard pending.isEmpty else { return }
        switch end {
        case .over(let reason):
            ids.appendEnd(
                of: index, data: Array("{\"reason\":\"\(reason.rawValue)\"}".utf8), to: &out)
        case .problem(let problem):
            ids.append("problem", of: index, data: problem.body, to: &out)
            end = nil
            phase = .waiting
        case .finished, nil: break
        }
    }

    /// Appends the bytes that have arrived of a block that is written in part.
    private mutating func writeRest(to out: inout [UInt8]) {
        let count = min(restCount, pending.count)
        let contentCount = min(count, max(restCount - EventHead.chunkEndCount, 0))
        out.append(copying: pending.span.extracting(first: contentCount))
        dropPending(count)
        restCount -= count
    }

    private mutating func dropPending(_ count: Int) {
        pending = pending.count == count ? [] : pending.dropFirst(count)
        owed += count
    }

    /// Whether the relay has ended and all of its bytes are written, without an `end`.
    var isGivenUp: Bool {
        guard pending.isEmpty, case .finished? = end else { return false }
        return true
    }

    mutating func wait() {
        phase = .waiting
        end = nil
    }

    mutating func finish() {
        phase = .over
        end = nil
        pending = []
    }

    /// Removes and returns the bytes for which the relay gets credit now: half a window at
    /// least, or all of them if a block is not complete, because the relay may have no credit
    /// for its rest.
    mutating func claimCredit(windowBytes: Int) -> Int? {
        if owed > 0, owed >= windowBytes / 2 || !pending.isEmpty || !isBetweenEvents {
            defer { owed = 0 }
            return owed
        }
        // A head is written only when it is whole. The name of an activity may be longer than the
        // window: the relay then gets credit for more than one.
        guard isBetweenEvents, pending.count + owed >= windowBytes, EventHead(pending) == nil else {
            return nil
        }
        owed -= windowBytes
        return windowBytes
    }
}
