internal import Dispatch
package import Storage
internal import Synchronization

/// A journal in PostgreSQL: a 2xx response is as durable as the database's commits.
///
/// Design: as with a file, one writer on its own queue; while it commits one group, batches
/// accumulate for the next. A group is one statement as a rule. Reading has connections of its own, and
/// so has retention.
package final class PostgresJournal: Journal {
    package typealias Ended = @Sendable (Verdict) -> Void
    private typealias Waiting = (batch: Batch, number: Int64, ended: Ended)

    private struct Book {
        var waiting: [Waiting] = []
        var isWriting = false
        var isClosed = false
        /// The failure of the last group, until one is committed or the database is back.
        var broken: JournalFailure?
        var lastBatch: Int64 = 0
        var figures = JournalMetrics()
    }

    private let connector: Connector
    private let lane: Lane
    private let reader: PostgresArchive
    private let sweeper: Sweeper
    /// Used on the queue only.
    private let lineages = LostLineages()
    private let queue = DispatchQueue(label: "journal.postgres", qos: .userInitiated)
    private let book = Mutex(Book())
    private let commitLimit: Duration
    package let interrupted: [InterruptedWork]

    /// How long a group waits for the database, and a statement without an answer for certainty.
    package static let commitLimit = Duration.seconds(10)

    /// Connects, and makes the tables or brings them up to date.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970, for retention.
    ///   - rules: All but in tests.
    ///   - looksEvery: how often it checks for records to trim, and whether the database answers
    ///     again; nil: never.
    /// - Throws: ``JournalFailure``: a sentence without secrets.
    package init(
        _ address: PostgresAddress, retention: JournalRetention = JournalRetention(),
        commitLimit: Duration = PostgresJournal.commitLimit, rules: Rules = .all,
        now: @escaping @Sendable () -> Int64 = FileJournal.systemTime,
        looksEvery pause: Duration? = .seconds(1)
    ) throws(JournalFailure) {
        self.commitLimit = commitLimit
        connector = Connector(address, rules: rules)
        lane = Lane(connector)
        reader = PostgresArchive(connector)
        sweeper = Sweeper(connector, retention, now)
        do throws(PostgresFault) {
            try Self.prepare(address)
            interrupted = try Self.interruptedWork(try lane.connect())
        } catch {
            throw JournalFailure(error)
        }
        guard let pause else { return }
        look(every: pause)
        sweeper.begin(every: pause)
    }

    /// Makes the tables, or brings them up to date.
    ///
    /// - Throws: ``PostgresFault``
    static func prepare(_ address: PostgresAddress) throws(PostgresFault) {
        let connection = try Connection(address.parameters)
        try Connector.check(connection)
        try Schema.prepare(address.schema, connection)
    }

    /// `postgres-replicated` while commits wait for a standby.
    package var name: String {
        connector.database?.isSynchronous == true ? "postgres-replicated" : "postgres"
    }

    package var archive: (any Archive)? { reader }

    package var failure: JournalFailure? {
        book.withLock { $0.broken } ?? lane.absentBecause.map(JournalFailure.init)
    }

    package var figures: JournalMetrics? {
        let isFailing = failure != nil
        return book.withLock { book in
            var figures = book.figures
            figures.waiting = book.waiting.count
            figures.isFailing = isFailing
            return figures
        }
    }

    package func ownedSessions() throws(JournalFailure) -> [String: Int] {
        try queue.sync { [lane] in
            Result { () throws(PostgresFault) in
                let found = try lane.connect().run(
                    """
                    SELECT owner, count(*) FROM sessions
                    WHERE deleted IS NULL AND owner IS NOT NULL GROUP BY owner
                    """, within: .seconds(60))
                return (0..<found.count).reduce(into: [:]) { all, row in
                    all[found.text(row, 0)] = Int(found.integer(row, 1))
                }
            }
        }.mapError { JournalFailure($0) }.get()
    }

    /// Actions whose effects had not ended when the previous process did; those with the most starts
    /// come first.
    private static func interruptedWork(
        _ connection: Connection
    ) throws(PostgresFault) -> [InterruptedWork] {
        let found = try connection.run(
            """
            SELECT s.id, s.reactor, r.action, r.begun
            FROM (SELECT session, action, begun FROM running LIMIT 10000) r
            JOIN sessions s ON s.session = r.session AND s.deleted IS NULL
            ORDER BY r.begun DESC LIMIT 16
            """, within: Connector.limit)
        return (0..<found.count).map { row in
            InterruptedWork(
                session: found.text(row, 0), reactor: found.text(row, 1),
                action: found.number(row, 2),
                trace: .running(begun: Int(clamping: found.integer(row, 3))))
        }
    }

    package func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let starts = book.withLock { book in
            book.lastBatch += 1
            book.waiting.append((batch, book.lastBatch, ended))
            guard !book.isWriting else { return false }
            book.isWriting = true
            return true
        }
        if starts { queue.async { [self] in writeNext() } }
        return .pending
    }

    /// Waits for submitted batches, then closes the connections. Later batches fail. A batch without
    /// an answer is waited for as long as at any other time.
    package func close() async {
        await sweeper.close()
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let last = book.withLock { book in
                    book.isClosed = true
                    defer { book.waiting = [] }
                    return book.waiting
                }
                if !last.isEmpty { write(last) }
                lane.close()
                continuation.resume()
            }
        }
        await reader.close()
    }

    /// Trims and removes everything that is due, as it happens once a second.
    package func keepHouse() async { await sweeper.sweep() }

    /// Looks whether the database answers, as it happens once a second.
    package func look() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                lookNow()
                continuation.resume()
            }
        }
    }

    // MARK: On the queue

    private func writeNext() {
        let (group, isClosed) = book.withLock { book in
            defer { book.waiting = [] }
            book.isWriting = !book.waiting.isEmpty
            return (book.waiting, book.isClosed)
        }
        guard !group.isEmpty else { return }
        if isClosed {
            fail(group, JournalFailure(reason: .unavailable, detail: "the journal is closed"))
        } else {
            write(group)
        }
        queue.async { [self] in writeNext() }
    }

    private func look(every pause: Duration) {
        queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
            guard let self, !book.withLock({ $0.isClosed }) else { return }
            lookNow()
            look(every: pause)
        }
    }

    private func lookNow() {
        lane.probe()
        if lane.absentSince == nil { book.withLock { $0.broken = nil } }
    }

    private func write(_ group: [Waiting]) {
        let start = ContinuousClock.now
        let deadline = (lane.absentSince ?? start) + commitLimit
        if let fault = lane.absentBecause, start >= deadline {
            // Nobody waits again for a database that was waited for.
            return fail(group, JournalFailure(fault))
        }
        let plan = GroupPlan(group.map { ($0.batch, $0.number) })
        for wave in plan.waves {
            for part in wave where lineages.has(part.key, part.lineage) {
                part.outcome = .refused(.lostLineage)
            }
            lane.decide(wave.filter { $0.outcome == .open }, until: deadline)
            for part in wave where part.outcome != .committed && !part.runs.isEmpty {
                lineages.lose(part.key, part.lineage)
            }
        }
        for (key, lineage) in plan.lost { lineages.lose(key, lineage) }
        sweeper.record(plan)
        end(group, plan, ContinuousClock.now - start)
    }

    private func end(_ group: [Waiting], _ plan: GroupPlan, _ time: Duration) {
        var verdicts: [Verdict] = []
        for (parts, refused) in plan.batches {
            var refused = refused
            for part in parts {
                guard case .refused(let refusal) = part.outcome else { continue }
                refused[part.key] = refusal
            }
            verdicts.append(Verdict(of: parts.count, refusing: refused))
        }
        let failures = verdicts.compactMap { verdict -> JournalFailure? in
            if case .failed(let failure) = verdict { failure } else { nil }
        }
        book.withLock { book in
            book.broken = failures.last
            book.figures.recordFailure(of: failures.count)
            guard failures.count < group.count else { return }
            book.figures.recordCommit(of: group.count - failures.count, time)
        }
        for (one, verdict) in zip(group, verdicts) { one.ended(verdict) }
    }

    /// Nothing of these batches was sent.
    private func fail(_ group: [Waiting], _ failure: JournalFailure) {
        book.withLock { $0.figures.recordFailure(of: group.count) }
        for one in group {
            for run in one.batch.runs { lineages.lose(run.key, run.lineage) }
        }
        for one in group { one.ended(.failed(failure)) }
    }
}

/// The lineages that have lost a part: what was decided upon it may still be handed in.
///
/// Used on the journal's queue only.
private final class LostLineages: @unchecked Sendable {
    private var newer: [SessionKey: UInt64] = [:]
    private var older: [SessionKey: UInt64] = [:]
    /// A lineage is remembered for at least as many losses: its session hears of the first within one
    /// round of its loop.
    private static let limit = 50_000

    func lose(_ key: SessionKey, _ lineage: UInt64) {
        guard lineage != 0 else { return }
        if newer.count >= Self.limit {
            older = newer
            newer = [:]
        }
        newer[key] = lineage
    }

    func has(_ key: SessionKey, _ lineage: UInt64) -> Bool {
        lineage != 0 && (newer[key] ?? older[key]) == lineage
    }
}

extension Verdict {
    /// - Parameters:
    ///   - count: The number of parts that were sent.
    ///   - refused: The parts that are not in the database.
    fileprivate init(of count: Int, refusing refused: [SessionKey: Refusal]) {
        self.init(refusing: refused)
        guard count > 0, refused.count >= count else { return }
        var failures: [JournalFailure] = []
        for refusal in refused.values {
            guard case .failed(let failure) = refusal else { return }
            failures.append(failure)
        }
        guard let first = failures.first else { return }
        let unknown = failures.first { $0.reason == .outcomeUnknown }
        self = .failed(unknown ?? first)
    }
}
