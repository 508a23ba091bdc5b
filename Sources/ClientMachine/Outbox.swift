/// The sends that are not done: the part of a client that outlives its process.
///
/// Design: pure bookkeeping. ``apply(_:)`` is the only way to change it, so that replaying the
/// changes of a file gives the same outbox.
package struct Outbox: Equatable, Sendable {
    /// The sends of one session, in their order. At most one request is under way (O1).
    package struct Lane: Equatable, Sendable {
        package internal(set) var sent: SentRequest?
        package internal(set) var queued: [OutboxEntry] = []
        package fileprivate(set) var actionCount = 0

        var isEmpty: Bool { sent == nil && queued.isEmpty }
        package var entries: [OutboxEntry] { (sent?.entries ?? []) + queued }
    }

    /// Invariant: no lane is empty.
    package private(set) var lanes: [SessionName: Lane] = [:]
    /// Ends of sends that the program has not seen.
    package private(set) var settlements: [Ticket: Settlement] = [:]
    /// Actions in the lanes, and of settlements.
    package private(set) var actionCount = 0
    package private(set) var byteCount = 0
    package private(set) var nextTicket = Ticket(1)

    package init() {}

    /// Restores an outbox; nil if a change does not follow from those before it.
    package init?(replaying changes: some Sequence<OutboxChange>) {
        for change in changes {
            guard apply(change) else { return nil }
        }
    }

    /// The least from which the outbox can be restored.
    package var changes: [OutboxChange] {
        let names = lanes.keys.sorted { $0.text < $1.text }
        let entries = lanes.values.flatMap(\.entries).sorted { $0.ticket < $1.ticket }
        let sent = names.compactMap { name in
            lanes[name]?.sent.map { sent in
                OutboxChange.sent(
                    name, sent.key, body: sent.body, count: sent.entries.count,
                    date: sent.firstSent)
            }
        }
        let ends = settlements.values.sorted { $0.ticket < $1.ticket }
        return entries.map(OutboxChange.queued) + sent + [.next(nextTicket)]
            + ends.map(OutboxChange.settled)
    }

    package subscript(session: SessionName) -> Lane { lanes[session] ?? Lane() }

    /// Actions in the session's lane. To ask the lane copies it.
    func actionCount(of session: SessionName) -> Int {
        lanes.index(forKey: session).map { lanes.values[$0].actionCount } ?? 0
    }

    /// Applies a change. Returns false, and changes nothing, if the change does not follow from
    /// those before it.
    @discardableResult
    package mutating func apply(_ change: OutboxChange) -> Bool {
        switch change {
        case .queued(let entry): append(entry)
        case .sent(let session, let key, let body, let count, let date):
            send(count, of: session, key, body, date)
        case .withdrawn(let session, let key): withdraw(session, key)
        case .done(let session, let key): finish(session, key)
        case .settled(let settlement): settle(settlement)
        case .seen(let ticket): forget(ticket)
        case .discarded(let ticket, let session): discard(ticket, of: session)
        case .next(let ticket): advance(to: ticket)
        }
    }

    private mutating func append(_ entry: OutboxEntry) -> Bool {
        guard entry.ticket >= nextTicket, !entry.actions.isEmpty, entry.ticket.number < .max else {
            return false
        }
        lanes[entry.session, default: Lane()].queued.append(entry)
        nextTicket = Ticket(entry.ticket.number + 1)
        add([entry], 1)
        return true
    }

    private mutating func send(
        _ count: Int, of session: SessionName, _ key: RequestKey, _ body: [UInt8], _ date: Int64
    ) -> Bool {
        guard var lane = lanes[session], lane.sent == nil, (1...lane.queued.count).contains(count)
        else { return false }
        lane.sent = SentRequest(
            key: key, body: body, firstSent: date, entries: Array(lane.queued.prefix(count)))
        lane.queued.removeFirst(count)
        lanes[session] = lane
        return true
    }

    private mutating func withdraw(_ session: SessionName, _ key: RequestKey) -> Bool {
        guard let sent = lanes[session]?.sent, sent.key == key else { return false }
        lanes[session]?.sent = nil
        lanes[session]?.queued.insert(contentsOf: sent.entries, at: 0)
        return true
    }

    private mutating func finish(_ session: SessionName, _ key: RequestKey) -> Bool {
        guard let sent = lanes[session]?.sent, sent.key == key else { return false }
        add(sent.entries, -1)
        change(session) { $0.sent = nil }
        return true
    }

    private mutating func settle(_ settlement: Settlement) -> Bool {
        var settlement = settlement
        guard settlement.ticket < nextTicket, settlements[settlement.ticket] == nil,
            let entry = remove(settlement.ticket, of: settlement.session, includingSent: true)
                ?? settlement.entry
        else { return false }
        settlement.entry = entry
        settlements[settlement.ticket] = settlement
        actionCount += settlement.cost.actions
        byteCount += settlement.cost.bytes
        return true
    }

    private mutating func forget(_ ticket: Ticket) -> Bool {
        guard let settlement = settlements.removeValue(forKey: ticket) else { return false }
        actionCount -= settlement.cost.actions
        byteCount -= settlement.cost.bytes
        return true
    }

    private mutating func advance(to ticket: Ticket) -> Bool {
        guard ticket >= nextTicket else { return false }
        nextTicket = ticket
        return true
    }

    private mutating func discard(_ ticket: Ticket, of session: SessionName) -> Bool {
        remove(ticket, of: session, includingSent: false) != nil
    }

    private mutating func remove(
        _ ticket: Ticket, of session: SessionName, includingSent: Bool
    ) -> OutboxEntry? {
        let lane = self[session]
        if let index = lane.queued.firstIndex(where: { $0.ticket == ticket }) {
            add([lane.queued[index]], -1)
            change(session) { $0.queued.remove(at: index) }
            return lane.queued[index]
        }
        guard includingSent, let sent = lane.sent,
            let index = sent.entries.firstIndex(where: { $0.ticket == ticket })
        else { return nil }
        add([sent.entries[index]], -1)
        change(session) { lane in
            lane.sent?.entries.remove(at: index)
            if lane.sent?.entries.isEmpty == true { lane.sent = nil }
        }
        return sent.entries[index]
    }

    private mutating func change(_ session: SessionName, _ body: (inout Lane) -> Void) {
        var lane = lanes.removeValue(forKey: session) ?? Lane()
        body(&lane)
        if !lane.isEmpty { lanes[session] = lane }
    }

    private mutating func add(_ entries: [OutboxEntry], _ sign: Int) {
        for entry in entries {
            lanes[entry.session]?.actionCount += sign * entry.actions.count
            actionCount += sign * entry.actions.count
            byteCount += sign * entry.byteCount
        }
    }
}
