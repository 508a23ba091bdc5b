internal import Cluster
internal import Storage
internal import Synchronization

/// The connection that writes, used on one queue.
///
/// Design: if a statement was sent and not answered, only the rows at its places decide. It is sent
/// again, over another connection, until there is a row at each place: its own, recognised by
/// writer and number, or another writer's. Until then no client hears that nothing was applied.
final class PostgresWriter: @unchecked Sendable {
    private let connector: Connector
    /// Random, so that no two processes have the same.
    private let writer = Int64.random(in: 1 ... .max)
    private var present: (connection: Connection, backend: Connector.Backend)?
    private var lost: Connector.Backend?
    /// The moment since which there has been no connection, and the fault of the last attempt.
    private let absence = Mutex<(since: ContinuousClock.Instant, fault: PostgresFault)?>(nil)

    /// The time after which the connection is given up, and the statement is sent again.
    private static let statementLimit = Duration.seconds(5)
    private let lockLimit: Duration
    private static let partLimit = 1_024
    private static let byteLimit = 8_388_608

    init(_ connector: Connector, lockLimit: Duration) {
        self.connector = connector
        self.lockLimit = lockLimit
    }

    /// The fault of the last attempt to connect; nil while there is a connection.
    var absentBecause: PostgresFault? { absence.withLock { $0?.fault } }

    var absentSince: ContinuousClock.Instant? { absence.withLock { $0?.since } }

    // MARK: The connection

    /// Connects if there is no connection; ends what the last one may have under way.
    func connect() throws(PostgresFault) -> Connection {
        if let present {
            // If the connection is of an earlier era or primary, a new one finds out what became of
            // its statements.
            guard !connector.isPresent(present.connection) else { return present.connection }
            drop()
        }
        do throws(PostgresFault) {
            let fresh = try connector.connect("writer", ending: lost)
            lost = nil
            present = fresh
            absence.withLock { $0 = nil }
            return fresh.connection
        } catch {
            var fault = error
            // Nothing was sent, whatever the reason: the same parts are tried again later.
            if fault.state != Connector.refusedState { fault.isBroken = true }
            absence.withLock { $0 = ($0?.since ?? ContinuousClock.now, fault) }
            throw fault
        }
    }

    /// Whether the connection is alive; if there is none, tries to connect.
    func probe() {
        do throws(PostgresFault) {
            let connection = try connect()
            _ = try connection.run("SELECT 1", within: Connector.limit)
        } catch {
            drop()
        }
    }

    func close() { present = nil }

    private func drop() {
        if let backend = present?.backend { lost = backend }
        present = nil
    }

    // MARK: A wave

    /// Decides the parts of a wave: each is committed or refused.
    ///
    /// - Parameter deadline: When those that are not decided are given up.
    func decide(_ wave: [Part], until deadline: ContinuousClock.Instant) {
        var waiting = Self.statements(wave)
        var pause = Duration.milliseconds(50)
        let lockDeadline = min(deadline, ContinuousClock.now + lockLimit)
        var isFirst = true
        while let parts = waiting.popLast() {
            guard isFirst || mayGoOn(until: deadline) else {
                return giveUp(parts + waiting.flatMap(\.self), Self.tooLate)
            }
            isFirst = false
            do throws(PostgresFault) {
                try decideOnce(parts, until: deadline)
                pause = .milliseconds(50)
            } catch {
                if error.isBroken {
                    drop()
                    guard connector.rules.contains(.handsInAgain) else {
                        for part in parts { part.mayBeWritten = false }
                        return giveUp(parts + waiting.flatMap(\.self), error)
                    }
                    guard mayGoOn(until: deadline) else {
                        giveUp(parts + waiting.flatMap(\.self), error)
                        return
                    }
                    waiting.append(parts)
                    ConnectionQueue.wait(min(pause, deadline - ContinuousClock.now))
                    pause = min(.seconds(1), pause * 2)
                } else {
                    let isUndecided = parts.contains { $0.mayBeWritten }
                    let isOver = !mayGoOn(
                        until: error.isLock && !isUndecided ? lockDeadline : deadline)
                    switch error.remedy {
                    case .split where error.isLock && isOver: giveUp(parts, error)
                    case .split where parts.count > 1:
                        let half = parts.count / 2
                        waiting.insert(Array(parts[half...]), at: 0)
                        waiting.append(Array(parts[..<half]))
                    case .split where !error.isLock && !isUndecided:
                        refuse(parts, error)
                    case .fail where !isUndecided,
                        .fail where error.state == Connector.refusedState:
                        giveUp(parts, error)
                    default:
                        guard !isOver else {
                            giveUp(parts, error)
                            continue
                        }
                        // It waits for a lock, so others go first. Without the pause, a short
                        // `lock_timeout` would make these attempts follow each other at full speed.
                        waiting.insert(parts, at: 0)
                        ConnectionQueue.wait(.milliseconds(50))
                    }
                }
            }
        }
    }

    private static let notPresent = PostgresFault(
        message: "history is lost, or another server was promoted", isBroken: true)
    private static let tooLate = PostgresFault(message: "no answer in time", isBroken: true)

    private func mayGoOn(until deadline: ContinuousClock.Instant) -> Bool {
        ContinuousClock.now < deadline
    }

    private static func statements(_ wave: [Part]) -> [[Part]] {
        var (all, bytes) = ([[Part]](), byteLimit)
        for part in wave {
            if bytes >= byteLimit || all[all.count - 1].count >= partLimit {
                all.append([])
                bytes = 0
            }
            all[all.count - 1].append(part)
            bytes += part.bytes
        }
        return all.reversed()
    }

    private func decideOnce(
        _ parts: [Part], until deadline: ContinuousClock.Instant
    ) throws(PostgresFault) {
        let connection = try connect()
        // A committed part of an earlier era has another generation now. A part that was not sent
        // yet may be of this era: its generation decides.
        for part in parts where part.outcome == .open && part.mayBeWritten {
            guard let era = part.sentEra, era != connection.mark?.era else { continue }
            part.outcome = .refused(Self.unknown("another era"))
        }
        let left = deadline - ContinuousClock.now
        let limit = max(.milliseconds(100), min(Self.statementLimit, left))
        let append = Append(
            connection: connection, writer: writer, node: connector.node, rules: connector.rules,
            limit: limit)
        let open = parts.filter { $0.outcome == .open }
        guard !open.isEmpty else { return }
        var rest: [(part: Part, seen: Append.Seen?)]
        do throws(PostgresFault) {
            rest = try append.send(open)
            guard connector.acknowledges(connection) else {
                // A former primary has accepted them.
                for part in open { part.outcome = .open }
                throw Self.notPresent
            }
        } catch {
            if error.isBroken {
                for part in open {
                    part.mayBeWritten = true
                    part.sentEra = part.sentEra ?? connection.mark?.era
                }
            }
            throw error
        }
        rest.removeAll { part, seen in
            guard !part.mayBeWritten, let refusal = Self.refusal(of: part, seen) else {
                return false
            }
            part.outcome = .refused(refusal)
            return true
        }
        guard !rest.isEmpty else { return }
        try decideByRow(rest.map(\.part), append)
    }

    /// Decides parts that may be in the database, or whose place another writer's row has.
    private func decideByRow(_ parts: [Part], _ append: Append) throws(PostgresFault) {
        let found = try append.look(for: parts)
        if found.contains(where: { $0.row == .own }) {
            // The row's wait for a standby may have been cancelled.
            try connector.prove(append.connection, within: append.limit)
        }
        guard connector.acknowledges(append.connection) else { throw Self.notPresent }
        for (part, (row, seen)) in zip(parts, found) {
            if row == .own {
                part.outcome = .committed
            } else if part.mayBeWritten,
                part.runs.isEmpty || seen == nil || mayBeTrimmed(part, row, seen?.end)
            {
                // Without records there is no row to recognise. With another generation, the row
                // may be in that one. If the history has continued, the row was trimmed.
                part.outcome = .refused(Self.unknown("no answer arrived"))
            } else {
                part.outcome = .refused(
                    Self.refusal(of: part, seen) ?? .endsAt(seen?.end ?? HistoryPosition(0)))
            }
        }
    }

    private func mayBeTrimmed(
        _ part: Part, _ row: Append.FoundRow, _ end: HistoryPosition?
    ) -> Bool {
        connector.rules.contains(.heedsTrimming) && row == .none && end != part.after
    }

    /// The reason why a part was refused, as the end of its session shows; nil if that shows none.
    private static func refusal(of part: Part, _ seen: Append.Seen?) -> CommitRefusal? {
        guard let after = part.after else { return .exists }
        guard let seen, !seen.isDeleted, let end = seen.end else { return .absent }
        guard seen.isOwned else { return .moved(seen.owner) }
        return end == after ? nil : .endsAt(end)
    }

    private static func unknown(_ reason: String) -> CommitRefusal {
        .failed(
            JournalFailure(
                reason: .outcomeUnknown, detail: "PostgreSQL: \(reason)",
                publicDetail: "PostgreSQL has not answered"))
    }

    /// The database refuses the parts, now and later. That is not a failure of the database.
    private func refuse(_ parts: [Part], _ fault: PostgresFault) {
        for part in parts where part.outcome == .open {
            part.outcome = .refused(.failed(.refusal(fault)))
        }
    }

    private func giveUp(_ parts: [Part], _ fault: PostgresFault) {
        for part in parts where part.outcome == .open {
            var failure = JournalFailure(fault)
            if part.mayBeWritten { failure.reason = .outcomeUnknown }
            part.outcome = .refused(.failed(failure))
        }
    }
}

extension PostgresFault {
    /// The next attempt after a statement that failed without effect.
    fileprivate enum Remedy {
        case again
        /// Half of the parts again, to find the part that is the cause.
        case split
        /// No other attempt would succeed.
        case fail
    }

    /// Whether somebody else holds a row.
    fileprivate var isLock: Bool { state == "55P03" }

    /// See ``JournalFailure/isTemporary``.
    fileprivate var isTemporary: Bool {
        isLock || isUnanswered || state == UsageLock.occupiedState
    }

    fileprivate var remedy: Remedy {
        guard let state else { return .again }
        if state == "40001" || state == "40P01" { return .again }
        // A lock; data that PostgreSQL does not take; a limit of the program.
        if isLock || ["22", "23", "54"].contains(state.prefix(2)) { return .split }
        return .fail
    }
}

extension JournalFailure {
    static func refusal(_ fault: PostgresFault) -> JournalFailure {
        JournalFailure(
            reason: .refused, detail: "PostgreSQL: \(fault.sentence)",
            publicDetail: fault.refusalSentence)
    }

    init(_ fault: PostgresFault) {
        self.init(
            reason: fault.state == "53100" ? .full : .unavailable,
            detail: "PostgreSQL: \(fault.sentence)", publicDetail: fault.publicSentence,
            isTemporary: fault.isTemporary)
    }
}

extension PostgresFault {
    /// The detail for clients. Messages name the host, port and user, and may name rows.
    var publicSentence: String {
        switch state {
        case nil: "PostgreSQL does not answer"
        case "53100": "no space is left for the journal"
        case let state?: "PostgreSQL has refused it (SQLSTATE \(state))"
        }
    }

    /// The detail for clients: the fault without the value, which PostgreSQL's message may quote.
    fileprivate var refusalSentence: String {
        let state = state ?? "unknown"
        let what =
            switch state {
            case "22021", "22P05":
                "a text has a character that PostgreSQL does not store, such as NUL"
            case "22001": "a text is too long"
            case "22003": "a number is too large"
            case _ where state.hasPrefix("54"): "a row is larger than PostgreSQL stores"
            default: "PostgreSQL does not store it"
            }
        return what + " (" + (["SQLSTATE \(state)"] + names).joined(separator: ", ") + ")"
    }
}
