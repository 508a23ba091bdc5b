internal import ClientMachine

/// The contents of an outbox's file: the result of its lines.
struct OutboxContents: Equatable, Sendable {
    private(set) var outbox = Outbox()
    private(set) var states: [SessionName: SavedState] = [:]
    /// The session whose state is the oldest comes first. Invariant: has the sessions of `states`.
    private var order: [SessionName] = []
    /// Bytes of the states. Invariant: not above `stateLimitBytes` after an addition, as their number is
    /// not above `stateLimit`.
    private var stateBytes = 0

    /// The bound of all kept states together; beyond it those that were saved longest ago are dropped.
    static let stateLimitBytes = 67_108_864
    /// The bound of their number; likewise.
    static let stateLimit = 1_024

    init() {}

    init(_ snapshot: OutboxSnapshot) throws(OutboxFault) { outbox = try Outbox(snapshot) }

    /// - Returns: false if the change does not follow from those before it.
    mutating func apply(_ change: OutboxChange) -> Bool { outbox.apply(change) }

    mutating func apply(_ state: SavedState?, of session: SessionName) {
        if let old = states.removeValue(forKey: session) {
            stateBytes -= old.state?.count ?? 0
            order.removeAll { $0 == session }
        }
        guard let state else { return }
        states[session] = state
        order.append(session)
        stateBytes += state.state?.count ?? 0
        while stateBytes > Self.stateLimitBytes || order.count > Self.stateLimit,
            let oldest = order.first
        {
            apply(nil, of: oldest)
        }
    }

    /// The same without the past, as a file that begins with it.
    func encoded(account: String?) -> [UInt8] {
        let snapshot = outbox.snapshot
        var content: [UInt8] = []
        OutboxLine.head(version: OutboxLine.version, account: account).append(to: &content)
        OutboxLine.nextTicket(snapshot.nextTicket).append(to: &content)
        for settlement in snapshot.settlements {
            if let entry = settlement.entry {
                OutboxLine.change(.queued(entry)).append(to: &content)
            }
            OutboxLine.change(.settled(settlement)).append(to: &content)
        }
        for change in snapshot.changes { OutboxLine.change(change).append(to: &content) }
        for session in order {
            OutboxLine.state(session, states[session]).append(to: &content)
        }
        return OutboxGroup.encoded(content)
    }
}

extension OutboxContents {
    /// The reason why a file cannot be read.
    enum Fault: Error, Equatable {
        case damaged(at: Int, String)
        /// A newer program has written it.
        case version(Int)
        /// nil: no account.
        case account(String?)
    }

    /// Reads a file.
    ///
    /// - Returns: what it has, and its length without a group at the end that was cut off.
    static func read(
        _ file: [UInt8], account: String?, keepsStates: Bool
    ) throws(Fault) -> (OutboxContents, Int) {
        // A crash of the system can leave zeros where a write was to come; no line ends with one.
        let bytes = file.prefix((file.lastIndex { $0 != 0 } ?? -1) + 1)
        var contents = OutboxContents()
        var offset = 0
        while true {
            switch OutboxGroup.read(bytes, at: offset) {
            case .group(let range):
                var lines = OutboxLineReader(bytes[range])
                if offset == 0 {
                    contents = try beginning(&lines, account: account, keepsStates: keepsStates)
                } else {
                    try contents.apply(&lines, keepsStates: keepsStates)
                }
                offset = range.upperBound
            case .damaged(let reason): throw .damaged(at: offset, reason)
            // The first group was durable before the file had its name.
            case .end where offset == 0, .cutOff where offset == 0:
                throw .damaged(at: bytes.count, "the file ends in its first group")
            case .end, .cutOff: return (contents, offset)
            }
        }
    }

    private static func beginning(
        _ lines: inout OutboxLineReader, account: String?, keepsStates: Bool
    ) throws(Fault) -> OutboxContents {
        let start = lines.offset
        guard case .head(let version, let owner) = lines.next() else {
            throw .damaged(at: start, "the file is no outbox of a client")
        }
        guard (1...OutboxLine.version).contains(version) else { throw .version(version) }
        guard owner == account else { throw .account(owner) }
        guard case .nextTicket(let ticket) = lines.next() else {
            throw .damaged(at: lines.offset, "the next ticket is missing")
        }
        var snapshot = OutboxSnapshot(nextTicket: ticket, settlements: [], changes: [])
        var states: [(SessionName, SavedState?)] = []
        while !lines.isAtEnd {
            switch lines.next() {
            case .change(.settled(var settlement)):
                if case .queued(let entry)? = snapshot.changes.last,
                    entry.ticket == settlement.ticket, entry.session == settlement.session
                {
                    snapshot.changes.removeLast()
                    settlement.entry = entry
                }
                snapshot.settlements.append(settlement)
            case .change(let change): snapshot.changes.append(change)
            case .state(let session, let state): states.append((session, state))
            case .head, .nextTicket, nil:
                throw .damaged(at: lines.offset, "a line has no known form")
            }
        }
        do throws(OutboxFault) {
            var contents = try OutboxContents(snapshot)
            if keepsStates {
                for (session, state) in states { contents.apply(state, of: session) }
            }
            return contents
        } catch {
            throw .damaged(at: start, "the beginning contradicts itself")
        }
    }

    private mutating func apply(
        _ lines: inout OutboxLineReader, keepsStates: Bool
    ) throws(Fault) {
        while !lines.isAtEnd {
            let start = lines.offset
            switch lines.next() {
            case .change(let change):
                guard apply(change) else {
                    throw .damaged(at: start, "a line does not follow from those before it")
                }
            case .state(let session, let state):
                if keepsStates { apply(state, of: session) }
            case .head, .nextTicket, nil:
                throw .damaged(at: start, "a line has no known form")
            }
        }
    }
}
