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
    /// Written bytes for which the relay does not have credit yet.
    private var owed = 0
    private var rewriter = EventRewriter()
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
    var isBetweenEvents: Bool { rewriter.isBetweenEvents }

    mutating func beginAttempt() {
        attempts += 1
        phase = .subscribed
        rewriter = EventRewriter()
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
        end != nil || (rewriter.isBetweenEvents ? hasBlock(windowBytes) : !pending.isEmpty)
    }

    /// Whether a block may be started. An incomplete block would make the other sessions wait for
    /// its rest, so only a block that is larger than the window is started early.
    private func hasBlock(_ windowBytes: Int) -> Bool {
        EventRewriter.hasBlock(pending.span) || (end == nil && pending.count >= windowBytes)
    }

    /// Appends whole blocks, or parts of a block that exceeds the window.
    mutating func write(
        of index: Int, _ ids: inout JointIDs, to out: inout [UInt8], windowBytes: Int
    ) {
        var written = 0
        // A limit for the output, not for the input, because the vector of a small event is larger
        // than the event.
        let limit = out.count + Self.turnBytes
        while out.count < limit, !pending.isEmpty,
            !rewriter.isBetweenEvents || hasBlock(windowBytes)
        {
            let bytes = pending
            let count = rewriter.rewrite(bytes.span, of: index, &ids, to: &out)
            written += count
            pending = pending.count == count ? [] : pending.dropFirst(count)
        }
        owed += written
        guard rewriter.isBetweenEvents else { return }
        // The relay was given up: the rest of this block will never come.
        if end != nil, !hasBlock(windowBytes) { pending = [] }
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
        guard owed > 0,
            owed >= windowBytes / 2 || !pending.isEmpty || !rewriter.isBetweenEvents
        else { return nil }
        defer { owed = 0 }
        return owed
    }
}
