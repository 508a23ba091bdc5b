internal import GRDB

/// Maintenance of the file: moving the tail, retention, and expiry rows.
///
/// Design: it is part of commits. Each committed row pays for a few rows of maintenance in one of
/// the next transactions. So it keeps up with any load, takes a bounded part of a commit, and needs
/// no flush of its own. Without commits it has transactions of its own.
///
/// Invariant: used only within a transaction of the writer; after a failed one it starts over.
final class Maintenance {
    let retention: JournalRetention
    let tail: TailIndex
    let heads: SessionHeads
    let expiries: ExpiryBacklog
    let now: @Sendable () -> Int64

    /// The rows that may be written or removed now. Negative after a large one: later commits pay.
    private var budget = 0
    var move: TailMove?
    /// Bytes that this process has put into the tail and not started to move.
    var tailBytes = 0
    /// The changes of expiry rows in the current transaction.
    var expiryStep: ExpiryBacklog.Step?
    /// Set once a second: the sessions are due for examination.
    var isLookDue = false
    /// Where the examination of all sessions continues.
    var nextLook: Int64 = 0
    /// Where the removal of deleted sessions continues.
    var nextOver: Int64 = 0
    /// Whether rows in the tail wait to be removed.
    var isMoveWanted = false
    /// The rows of sessions that the current transaction deletes.
    ///
    /// Invariant: none of them is removed in that transaction. Their last records are in the tail
    /// by then and not yet in its index: without the row, a restart would give its number to
    /// another session, together with that record.
    private(set) var endedNow: Set<Int64> = []

    /// A row is moved (written there, removed here) and trimmed later; one more to catch up.
    private static let rowsPerRun = rowsPerRemoval + 4
    /// Removing a row of the tail may rewrite every page that it occupies.
    static let rowsPerRemoval = 4
    /// The maximum number of rows of the tail that are moved at once for later records.
    static let aheadLimit = 16
    static let bytesPerRow = 1_024
    /// Smaller steps do not justify the pages that they touch.
    private static let leastCredit = 128

    init(
        retention: JournalRetention, tail: TailIndex, heads: SessionHeads,
        expiries: ExpiryBacklog = ExpiryBacklog(), now: @escaping @Sendable () -> Int64
    ) {
        self.retention = retention
        self.tail = tail
        self.heads = heads
        self.expiries = expiries
        self.now = now
    }

    /// Forgets everything after the file was reopened.
    func reset() {
        move = nil
        budget = 0
        tailBytes = 0
        isMoveWanted = false
        endedNow = []
        expiryStep = nil
    }

    func recordEnd(of row: Int64) { endedNow.insert(row) }

    /// Not before the rows of all deleted sessions were visited: clients may delete at any rate,
    /// and the budget grows with the commits.
    func endLook() {
        guard nextOver == 0 else { return }
        isLookDue = false
    }

    var areDue: Bool {
        move != nil || isMoveWanted || isLookDue || !heads.crowded.isEmpty || isTailLong
            || !expiries.isEmpty
    }

    private var isTailLong: Bool {
        tail.count >= retention.tailRecords || tailBytes >= retention.tailBytes
    }

    /// Charges the rows that are committed with the next work, and their bytes.
    func charge(for runs: Int, bytes: Int) {
        tailBytes += bytes
        let rows = runs * Self.rowsPerRun + 2 * bytes / Self.bytesPerRow
        budget = areDue ? min(budget + rows, retention.stepRows) : 0
    }

    /// Charges records that bypass the tail: only for their removal.
    func charge(forAhead bytes: Int) {
        guard areDue, bytes > 0 else { return }
        let rows = Self.rowsPerRemoval + bytes / Self.bytesPerRow
        budget = min(budget + rows, retention.stepRows)
    }

    func charge(all rows: Int) { budget = rows }

    /// Does the work that the budget allows.
    func work(_ database: Database) throws {
        guard budget >= min(Self.leastCredit, retention.stepRows), areDue else { return }
        if move == nil, isMoveWanted || isTailLong { beginMove() }
        budget -= try moveSome(budget, database)
        budget -= try trimCrowded(budget, database)
        if budget > 0, !expiries.isEmpty { budget -= try writeExpiries(budget, database) }
        if budget > 0, isLookDue { budget -= try look(budget, database) }
    }

    /// The transaction of the last work is committed.
    func committed() {
        endedNow.removeAll(keepingCapacity: endedNow.capacity <= 1_000)
        if let expiryStep { expiries.done(expiryStep) }
        expiryStep = nil
        guard let move, move.isDone else { return }
        tail.drop(move.rows, through: move.through)
        self.move = nil
    }
}
