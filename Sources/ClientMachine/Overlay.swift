/// The requests of one session whose effect may be missing in the confirmed state (R2).
///
/// The hard part is a request of several records: when the stream has brought some of them, the
/// state contains a part of what the request does, and neither the request as a whole nor
/// nothing of it can be reduced over that state. The shown state is then held as it is, until
/// the rest arrives.
struct Overlay: Equatable, Sendable {
    struct Request: Equatable, Sendable {
        let key: RequestKey
        var entries: [OutboxEntry]
        /// The uptime of the first attempt in this life of the program.
        let firstAttempt: Duration
        var receipt: Receipt?
        /// The position of the last event that names the request as its cause.
        var cause: StreamPosition?
        /// The uptime from which on the connection with that event has causes.
        var causeOpened = Duration.zero
        /// All of its events have come, as a later event shows; or are awaited no longer.
        var isComplete = false
        var hold = Hold.none
        /// The held state may have a part of it, so that the rest comes as events. Else that state
        /// has all of it or nothing, which the answer shows.
        var awaitsEvents = false
        /// The confirmed state contains it.
        var isCovered = false
        /// The program knows of the receipt.
        var isReported = false

        /// Whether some of its events have come, and the rest may follow.
        func isAwaited(at now: Duration) -> Bool {
            guard cause != nil, !isComplete, case .until(let end) = hold else { return false }
            return end > now
        }
    }

    enum Hold: Equatable, Sendable {
        case none
        case until(Duration)
        /// As long as nothing can come that would show the rest; then for some time again.
        case waiting
        case spent
    }

    private(set) var requests: [Request] = []

    subscript(key: RequestKey) -> Request? { requests.first { $0.key == key } }

    func firstAttempt(of key: RequestKey) -> Duration? {
        requests.firstIndex { $0.key == key }.map { requests[$0].firstAttempt }
    }

    /// Whether an answer was received that the confirmed state does not reach.
    var awaitsConfirmation: Bool { requests.contains { $0.receipt != nil && !$0.isCovered } }

    /// Whether there is room for more. Answered requests stay here until the confirmed state
    /// contains them. If the program may send but not read, they stay for good.
    func hasRoom(within limits: ClientLimits) -> Bool {
        var (actions, bytes) = (0, 0)
        for request in requests where request.receipt != nil && !request.isCovered {
            for entry in request.entries {
                actions += entry.actions.count
                bytes += entry.byteCount
            }
        }
        return actions < limits.actionsInOutbox && bytes < limits.bytesInOutbox
    }

    /// Whether the confirmed state has, or may have, the effect of a request that is not answered:
    /// a later life of the program would reduce it over that state once more.
    var isUncertain: Bool {
        requests.contains { $0.receipt == nil && ($0.cause != nil || $0.hold != .none) }
    }

    /// The tickets that are answered or sent and not in the confirmed state, in their order.
    var entries: [OutboxEntry] { requests.filter { !$0.isCovered }.flatMap(\.entries) }

    mutating func add(_ sent: SentRequest, at now: Duration) {
        requests.append(Request(key: sent.key, entries: sent.entries, firstAttempt: now))
    }

    mutating func withdraw(_ key: RequestKey) { requests.removeAll { $0.key == key } }

    mutating func answer(_ key: RequestKey, with receipt: Receipt) {
        guard let index = requests.firstIndex(where: { $0.key == key }) else { return }
        requests[index].receipt = receipt
    }

    /// A send of a request that is under way was refused.
    mutating func remove(_ ticket: Ticket) {
        for index in requests.indices {
            requests[index].entries.removeAll { $0.ticket == ticket }
        }
        requests.removeAll(where: \.entries.isEmpty)
    }

    /// An event has advanced the confirmed state.
    ///
    /// - Parameters:
    ///   - isWhole: whether it was the state after a commit, which has all records of a request.
    ///   - isFirst: whether no state was known before, or one that the stream does not continue.
    ///   - opened: the uptime from which on events have their causes, if there are any.
    /// - Returns: whether a hold has begun that only the answer can end.
    mutating func observe(
        _ position: StreamPosition, cause: String?, isWhole: Bool = false,
        isFirst: Bool = false, opened: Duration, holdUntil end: Duration
    ) -> Bool {
        var begins = false
        for index in requests.indices where !requests[index].isCovered {
            let request = requests[index]
            if request.key.text == cause {
                requests[index].cause = position
                requests[index].causeOpened = opened
                _ = requests[index].holdOnce(until: end, isWhole: isWhole)
            } else if let last = request.cause {
                // The records of a request follow each other: none comes after another's. An event
                // without a cause is another's on the connection that had the cause; on a later one
                // it may be the request's own.
                let hasCause = cause != nil || opened <= request.causeOpened
                if (hasCause && position.number > last.number)
                    || (isWhole && position.reaches(last))
                {
                    requests[index].isComplete = true
                }
            } else if cause == nil || isFirst, opened >= request.firstAttempt,
                request.receipt.map({ !position.reaches($0.position) }) ?? true
            {
                // R10: this or an earlier one may be the request's own event, and not the last.
                if requests[index].holdOnce(until: end, isWhole: isWhole) { begins = true }
            }
        }
        return begins
    }

    /// The session has this life (R8): requests that another one has answered are over, those that
    /// are not answered are sent into this one. Returns the sends that the confirmed state does not
    /// contain any more.
    mutating func beginLife(_ generation: String) -> [OutboxEntry] {
        var uncovered: [OutboxEntry] = []
        for index in requests.indices {
            if let receipt = requests[index].receipt {
                if receipt.position.generation != generation { requests[index].isComplete = true }
            } else if let cause = requests[index].cause, cause.generation != generation {
                requests[index].cause = nil
                requests[index].isComplete = false
                if requests[index].isCovered { uncovered += requests[index].entries }
                requests[index].isCovered = false
            }
        }
        return uncovered
    }

    /// Ends holds that are over. Those that only events can end wait for them: a state with a part
    /// of a request must not be shown because its stream is away.
    ///
    /// - Parameter isContinued: whether events that continue the confirmed state can come.
    mutating func passTime(isContinued: Bool, at now: Duration, holdFor limit: Duration) {
        for index in requests.indices where !requests[index].isCovered {
            let waits = requests[index].awaitsEvents && !isContinued
            switch requests[index].hold {
            case .until where waits: requests[index].hold = .waiting
            case .waiting where !waits: requests[index].hold = .until(now + limit)
            case .until(let end) where end <= now:
                requests[index].hold = .spent
                if requests[index].cause != nil { requests[index].isComplete = true }
            case .none, .until, .waiting, .spent: break
            }
        }
    }

    /// The state over which requests are reduced is forgotten, and with it what is
    /// uncertain about it.
    mutating func forgetState() {
        for index in requests.indices { requests[index].hold = .none }
    }

    /// Marks the requests that the confirmed state contains (R2).
    ///
    /// - Parameter isStale: whether events that are seen do not continue that state.
    /// - Returns: the tickets that leave.
    mutating func cover(upTo confirmed: StreamPosition?, isStale: Bool) -> [Ticket] {
        var left: [Ticket] = []
        for index in requests.indices where !requests[index].isCovered {
            guard requests[index].isContained(in: confirmed, isStale: isStale) else { continue }
            requests[index].isCovered = true
            left += requests[index].entries.map(\.ticket)
        }
        return left
    }

    var isHeld: Bool { requests.contains(where: \.isHeld) }

    /// The moment until which the shown state is held; nil if it is not, or waits for events.
    var heldUntil: Duration? { requests.compactMap(\.heldUntil).max() }

    /// The sends of which it is not certain whether the confirmed state contains them.
    var heldTickets: Set<Ticket> {
        Set(requests.filter(\.isHeld).flatMap { $0.entries.map(\.ticket) })
    }

    /// The receipts that the program may have now (R6).
    ///
    /// - Parameters:
    ///   - isConfirming: whether the confirmed state is about to contain the answered requests.
    ///   - keepsUncovered: whether there is a state over which they are reduced until then.
    mutating func takeReports(
        isConfirming: Bool, keepsUncovered: Bool
    ) -> [(ticket: Ticket, receipt: Receipt)] {
        var reports: [(ticket: Ticket, receipt: Receipt)] = []
        for index in requests.indices {
            guard let receipt = requests[index].receipt, !requests[index].isReported,
                requests[index].isCovered || !isConfirming
            else { continue }
            requests[index].isReported = true
            var start = 0
            for entry in requests[index].entries {
                let end = start + entry.actions.count
                reports.append((entry.ticket, receipt.part(start..<end)))
                start = end
            }
        }
        requests.removeAll { $0.isReported && ($0.isCovered || !keepsUncovered) }
        return reports
    }
}

extension Overlay.Request {
    fileprivate var isHeld: Bool {
        switch hold {
        case .until, .waiting: !isCovered
        case .none, .spent: false
        }
    }

    fileprivate var heldUntil: Duration? {
        guard case .until(let end) = hold, !isCovered else { return nil }
        return end
    }

    /// - Returns: whether it was not held before.
    fileprivate mutating func holdOnce(until end: Duration, isWhole: Bool) -> Bool {
        awaitsEvents = !isWhole
        guard hold == .none else { return false }
        hold = .until(end)
        return true
    }

    fileprivate func isContained(in confirmed: StreamPosition?, isStale: Bool) -> Bool {
        if isComplete, !isStale { return true }
        // Without an answer, a receipt has the position of an event that was seen, maybe not of the
        // last: it counts when that one is awaited no longer.
        guard let receipt, receipt.version != nil || !isHeld, let confirmed else { return false }
        return confirmed.reaches(receipt.position)
    }
}
