internal import GRDB

/// Housekeeping of the file: moving the tail, and retention.
///
/// Design: it goes along with commits. Each row that is committed pays for a few rows of
/// housekeeping in one of the next transactions, so that it keeps up with any load, never takes
/// more than a bounded part of a commit, and needs no flush of its own. While nothing is
/// committed, the journal gives it transactions of its own.
///
/// Invariant: only within a transaction of the writer; after one that failed it starts anew.
final class Maintenance {
    let retention: JournalRetention
    let tail: TailIndex
    let heads: SessionHeads
    let now: @Sendable () -> Int64

    /// Rows that may be written or removed now.
    private var budget = 0
    /// The move out of the tail that is under way.
    var move: TailMove?
    /// Of what this process put into the tail and did not begin to move.
    var tailBytes = 0
    /// Once a second: what is found by looking.
    var isLookDue = false
    /// That look does not end before it has been at every session.
    private(set) var looksAtEverything = false
    /// Where the look at all sessions, one by one, continues.
    var nextLook: Int64 = 0
    /// Where the look at sessions that are over continues.
    var nextOver: Int64 = 0
    /// Something in the tail waits to be removed.
    var isMoveWanted = false
    /// The rows of sessions that the present transaction deletes.
    ///
    /// Invariant: none of them is removed in that transaction. Their last records are in the tail
    /// by then and not yet in its index: without the row, a restart would give its number to
    /// another session, and that record with it.
    private(set) var endedNow: Set<Int64> = []

    /// A row moves (written there, removed here) and is trimmed some day; one more to catch up.
    private static let rowsPerRun = rowsPerRemoval + 4
    /// Removing a row of the tail gives back every page that it lay on.
    static let rowsPerRemoval = 4
    /// So many rows of the tail are moved at once for what comes behind them.
    static let aheadLimit = 16
    /// The cost of bytes is counted in rows, too.
    static let bytesPerRow = 1_024
    /// Less is not worth the pages that it touches.
    private static let leastCredit = 128

    init(
        retention: JournalRetention, tail: TailIndex, heads: SessionHeads,
        now: @escaping @Sendable () -> Int64
    ) {
        self.retention = retention
        self.tail = tail
        self.heads = heads
        self.now = now
    }

    /// The file was opened anew.
    func reset() {
        move = nil
        budget = 0
        tailBytes = 0
        isMoveWanted = false
        endedNow = []
    }

    /// The present transaction deletes the session that has this row.
    func noteEnd(of row: Int64) { endedNow.insert(row) }

    /// The next look goes all round.
    func lookAtEverything() {
        isLookDue = true
        looksAtEverything = true
        nextLook = 0
        nextOver = 0
    }

    /// Not before it has been at all that deleted sessions have left: they are deleted as fast as
    /// clients want, and what a look may do grows with what is committed.
    func endLook() {
        guard nextOver == 0 else { return }
        guard !looksAtEverything || (nextLook == 0 && !isMoveWanted && move == nil)
        else { return }
        isLookDue = false
        looksAtEverything = false
    }

    var areDue: Bool {
        move != nil || isMoveWanted || isLookDue || !heads.crowded.isEmpty || isTailLong
    }

    private var isTailLong: Bool {
        tail.count >= retention.tailRecords || tailBytes >= retention.tailBytes
    }

    /// Rows that are committed with the next work, and the bytes of what they have.
    func charge(for runs: Int, bytes: Int) {
        tailBytes += bytes
        let rows = runs * Self.rowsPerRun + 2 * bytes / Self.bytesPerRow
        budget = areDue ? min(budget + rows, retention.stepRows) : 0
    }

    /// Records that bypass the tail are charged only for their removal.
    func charge(forAhead bytes: Int) {
        guard areDue, bytes > 0 else { return }
        let rows = Self.rowsPerRemoval + bytes / Self.bytesPerRow
        budget = min(budget + rows, retention.stepRows)
    }

    func charge(all rows: Int) { budget = rows }

    /// Does what the budget allows.
    func work(_ database: Database) throws {
        guard budget >= min(Self.leastCredit, retention.stepRows), areDue else { return }
        if move == nil, isMoveWanted || isTailLong { beginMove() }
        budget -= try moveSome(budget, database)
        budget -= try trimCrowded(budget, database)
        if budget > 0, isLookDue { budget -= try look(budget, database) }
    }

    /// The transaction with the last work is committed.
    func committed() {
        endedNow.removeAll(keepingCapacity: endedNow.capacity <= 1_000)
        guard let move, move.isDone else { return }
        tail.drop(move.rows, through: move.through)
        self.move = nil
    }
}
