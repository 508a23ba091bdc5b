internal import Dispatch
internal import Storage
internal import Synchronization

/// Retention: trims sessions, and removes what is over, in small transactions over a connection of
/// its own, so that it delays no commit. Of several processes one works at a time.
final class Sweeper: @unchecked Sendable {
    private let connector: Connector
    private let retention: JournalRetention
    private let now: @Sendable (_ database: Int64) -> Int64
    private let wallClock: @Sendable () -> Int64
    private let workLimit: Duration
    /// The last failure, until the next success: of the connection, or because the clocks differ.
    private let broken = Mutex<JournalFailure?>(nil)
    private let queue = DispatchQueue(label: "journal.postgres.sweeper", qos: .utility)
    private let growth: Mutex<Growth>
    let expiries = ExpiryBacklog()

    // On the queue.
    private var connection: Connection?
    private var isClosed = false
    /// Where the examination of all sessions continues.
    private var nextLook: Int64 = 0
    private var looks = 0
    /// The pages of the examination of all sessions in this second.
    private var scans = 0
    /// Of the work that is under way, in milliseconds since 1970.
    private var time: Int64 = 0
    /// The last time that the database has reported, and the moments between which it was read.
    private let heard = Mutex<(time: Int64, moments: Range<ContinuousClock.Instant>)?>(nil)

    /// In seconds. Rows of a deleted session stay for a moment: statements may be under way.
    private let removalDelay: Double

    init(
        _ connector: Connector, _ retention: JournalRetention,
        _ now: @escaping @Sendable (_ database: Int64) -> Int64,
        _ wallClock: @escaping @Sendable () -> Int64, workLimit: Duration
    ) {
        self.connector = connector
        self.retention = retention
        self.now = now
        self.wallClock = wallClock
        self.workLimit = workLimit
        removalDelay = Double(min(60_000, retention.age)) / 1_000
        growth = Mutex(Growth(retention))
    }

    /// Why this process is not ready, if it is not: it cannot remove old rows, or its clock is
    /// wrong.
    var failure: JournalFailure? { broken.withLock { $0 } }

    func open() throws(PostgresFault) {
        try queue.sync { [self] in
            Result { () throws(PostgresFault) in
                let fresh = try connector.connect("retention").connection
                connection = fresh
                try look(fresh)
            }
        }.get()
    }

    /// The earliest and the latest time that the database's clock may show. They differ by the time
    /// that the last question has taken. They follow a change of that clock within a second or two.
    var databaseTime: ClosedRange<Int64>? {
        guard let (time, moments) = heard.withLock(\.self) else { return nil }
        let now = ContinuousClock.now
        let least = Int64(moments.upperBound.duration(to: now) / .milliseconds(1))
        let most = Int64(moments.lowerBound.duration(to: now) / .milliseconds(1))
        // PostgreSQL rounds to milliseconds, and the divisions round down. This machine's clock may
        // run faster or slower than the database's, by up to a thousandth.
        return time + least - least / 1_000 - 1...time + most + most / 1_000 + 2
    }

    func record(_ plan: GroupPlan) {
        growth.withLock { growth in
            for part in plan.waves.joined() where part.outcome == .committed { growth.add(part) }
        }
    }

    func begin(every pause: Duration) {
        queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
            guard let self, !isClosed else { return }
            work()
            begin(every: pause)
        }
    }

    func sweep() async {
        await queue.run { [self] in work() }
    }

    func close() async {
        await queue.run { [self] in
            isClosed = true
            // The last readers have left and postponed the expiry of their sessions.
            let end = ContinuousClock.now + .seconds(1)
            while let connection, expiries.hasPostponed, ContinuousClock.now < end,
                (try? writeExpiries(connection)) == true
            {}
            connection = nil
        }
    }

    // MARK: On the queue

    private func work() {
        guard !isClosed else { return }
        do throws(PostgresFault) {
            if connection == nil { connection = try connector.connect("retention").connection }
            guard let connection else { return }
            guard connector.isPresent(connection) else {
                self.connection = nil
                return
            }
            looks += 1
            try look(connection)
            // Many small transactions; what is left then is for the next second.
            let end = ContinuousClock.now + workLimit
            scans = 0
            let half = end - workLimit / 2
            while ContinuousClock.now < half, try writeExpiries(connection) {}
            while ContinuousClock.now < end, try step(connection) {}
        } catch {
            connection = nil
            broken.withLock { $0 = JournalFailure(error) }
        }
    }

    /// A million sessions are examined in two hours, with a small part of one process of
    /// the database.
    private static let scanLimit = 10
    static let workLimit = Duration.milliseconds(250)
    /// A node whose clock differs by more is not ready: the times of its records, and the lifetimes
    /// of tokens, would be wrong by as much.
    private static let clockLimit: Int64 = 120_000

    /// Commits may have begun or ceased to wait for a standby: another connection finds out.
    private func look(_ connection: Connection) throws(PostgresFault) {
        let start = ContinuousClock.now
        let found = try connection.run(
            """
            SELECT current_setting('synchronous_standby_names') <> '', \(Connector.flushed),
                \(Schema.now), 'cluster'::regclass::oid::bigint
            """, within: Connector.limit)
        time = now(found.integer(0, 2))
        heard.withLock { $0 = (found.integer(0, 2), start..<ContinuousClock.now) }
        broken.withLock { $0 = Self.failure(ofClock: wallClock(), at: found.integer(0, 2)) }
        if let table = connector.database?.table, table != found.integer(0, 3) {
            // A dump was restored over the tables.
            connector.suspect()
            self.connection = try connector.connect("retention").connection
            return
        }
        let isSynchronous = found.bool(0, 0)
        connector.recordFlushed(found.integer(0, 1), over: connection)
        guard isSynchronous != connector.database?.isSynchronous else { return }
        self.connection = try connector.connect("retention").connection
    }

    private static func failure(ofClock own: Int64, at database: Int64) -> JournalFailure? {
        let difference = own - database
        guard abs(difference) > clockLimit else { return nil }
        return JournalFailure(
            reason: .unavailable,
            detail: "the clock of this server is \(abs(difference) / 1_000) s "
                + "\(difference < 0 ? "behind" : "ahead of") that of the database")
    }

    /// - Returns: whether there is more to do at once.
    private func step(_ connection: Connection) throws(PostgresFault) -> Bool {
        try connection.execute("BEGIN", within: Connector.limit)
        let isAlone = try connection.run(
            "SELECT pg_try_advisory_xact_lock(hashtext($1))",
            ["reactor \(connector.address.schema) retention"], within: Connector.limit
        ).bool(0, 0)
        var isMore = false
        if isAlone {
            isMore = try Self.answers.run(connection, retention, time - retention.answers)
            isMore = try forgetDeleted(connection) || isMore
            isMore = try removeOver(connection) || isMore
            isMore = try trimSome(connection) || isMore
        }
        try connection.execute("COMMIT", within: Connector.limit)
        return isMore
    }

    static let answers = RowRemoval(
        "answers", content: "body", where: "time < $3", order: "time")

    /// Forgets the ids of deleted sessions, if they are too old or too many.
    private func forgetDeleted(_ connection: Connection) throws(PostgresFault) -> Bool {
        var changed = try connection.run(
            """
            DELETE FROM sessions WHERE session IN (
                SELECT session FROM sessions WHERE deleted < $1 ORDER BY deleted LIMIT $2)
                AND deleted IS NOT NULL
            """, [time - retention.age, retention.stepRows], within: SessionRow.limit
        ).changed
        // Counting reads as many rows of an index as may stay, so not each second.
        if looks % 60 == 1 {
            changed += try connection.run(
                """
                DELETE FROM sessions WHERE session IN (
                    SELECT session FROM sessions WHERE deleted IS NOT NULL
                    ORDER BY deleted DESC, session DESC OFFSET $1 LIMIT $2) AND deleted IS NOT NULL
                """, [retention.tombstones, retention.stepRows], within: SessionRow.limit
            ).changed
        }
        return changed >= retention.stepRows
    }

    /// Removes the rows of deleted sessions; the newest run last, which stands for their end.
    private func removeOver(_ connection: Connection) throws(PostgresFault) -> Bool {
        let found = try connection.run(
            """
            SELECT session FROM removals
            WHERE queued <= clock_timestamp() - $1 * interval '1 ms' ORDER BY session LIMIT 1
            """, [Int64(removalDelay * 1_000)], within: Connector.limit)
        guard found.count > 0 else { return false }
        let row = found.integer(0, 0)
        for removal in Self.removals {
            guard try !removal.run(connection, retention, row) else { return true }
        }
        _ = try connection.run(
            "DELETE FROM removals WHERE session = $1", [row], within: Connector.limit)
        return true
    }

    static let removals = [
        ("snapshots", "state", "version, number"), ("answers", "body", "key"),
        ("running", "content", "action"), ("timers", "content", "name"),
        ("tags", "value", "name"),
        ("runs", "lines", "after_number, after_part"),
    ].map { RowRemoval($0, content: $1, where: "session = $3", order: $2) }

    // MARK: Trimming

    /// Sessions that have grown, and then the next few of all: records may expire without a commit.
    private func trimSome(_ connection: Connection) throws(PostgresFault) -> Bool {
        if let key = growth.withLock({ $0.crowded.first }) {
            guard let stored = try SessionRow.find(key, isEnded: false, connection) else {
                growth.withLock { $0.done(key) }
                return true
            }
            let isDone = try trim(stored).run(connection)
            if isDone { growth.withLock { $0.done(key) } }
            return true
        }
        let found = try connection.run(
            """
            SELECT \(SessionRow.columns) FROM (
                SELECT * FROM sessions WHERE session > $1 AND deleted IS NULL
                ORDER BY session LIMIT 16) s
            \(SessionRow.newest) ORDER BY s.session
            """, [nextLook], within: SessionRow.limit)
        for index in 0..<found.count {
            let stored = SessionRow(found, index)
            guard try trim(stored).run(connection) else { return true }
            nextLook = stored.row
        }
        if found.count < 16 { nextLook = 0 }
        scans += 1
        return found.count == 16 && scans < Self.scanLimit
    }

    private func trim(_ stored: SessionRow) -> Trim {
        Trim(stored: stored, retention: retention, now: time)
    }
}

/// The growth of sessions since they were last trimmed.
private struct Growth {
    private var grown: [SessionKey: (records: Int, bytes: Int)] = [:]
    private(set) var crowded: Set<SessionKey> = []
    private let records: Int
    private let bytes: Int

    /// Beyond it all is forgotten: the examination of all sessions finds those that it missed.
    private static let limit = 20_000

    init(_ retention: JournalRetention) {
        records = max(1, retention.records / 8)
        bytes = max(1, retention.bytes / 8)
    }

    mutating func add(_ part: Part) {
        if grown.count >= Self.limit { grown.removeAll(keepingCapacity: true) }
        let more = part.runs.reduce(0) { $0 + $1.count }
        let (soFar, soFarBytes) = grown[part.key] ?? (0, 0)
        let sum = (records: soFar + more, bytes: soFarBytes + part.bytes)
        grown[part.key] = sum
        if sum.records >= records || sum.bytes >= bytes, crowded.count < Self.limit {
            crowded.insert(part.key)
            grown[part.key] = nil
        }
    }

    mutating func done(_ key: SessionKey) { crowded.remove(key) }
}
