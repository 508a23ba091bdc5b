/// Makes records permanent.
///
/// Design: a journal commits whole batches, in order, and reports when each is as durable as
/// possible. No part of a batch is published before that. A commit that is done at once returns
/// `.done` and costs no wake-up; any other calls back later, on any thread.
package protocol Journal: BatchCommitter {
    /// The name in logs, `/readyz` and the `Durability` header: `memory`, `file`, …
    var name: String { get }

    /// The reading side; nil if it keeps no records.
    var archive: (any Archive)? { get }

    /// Whether records must be encoded for this journal; default: if it has an archive. Without
    /// records the sessions save that work; positions and versions are the same either way.
    var keepsRecords: Bool { get }

    /// The reason that no commit is possible now, for `/readyz`; nil while commits succeed.
    var failure: JournalFailure? { get }

    /// The number of sessions by their owners. It reads all sessions; for the start.
    ///
    /// Default: none.
    func ownedSessions() throws(JournalFailure) -> [ExactText: Int]

    /// Counters for `/metrics`; nil, the default, if it has none.
    var figures: JournalMetrics? { get }

    /// Commits all batches of one loop's sessions. Default: the journal itself.
    func takeCommitter() -> any BatchCommitter

    /// Ends pending work and closes the medium. Default: nothing.
    func close() async

    /// The slot in which one loop records its work. Default: one without a reader.
    func takeCrashSlot() -> CrashSlot

    /// The work of the previous process when it ended. Default: none.
    var interrupted: [InterruptedWork] { get }

    /// The owners of sessions; nil, the default, if this process owns all sessions.
    var ownership: (any Ownership)? { get }

    /// Finds sessions whose effects or sources rest since their process has ended; nil by default.
    var work: (any WorkFinder)? { get }

    /// The earliest and the latest time that the journal's clock may show now, in milliseconds
    /// since 1970 (UTC). That clock decides when timers are due. Default: from `wall` to the time
    /// of this machine.
    ///
    /// - Parameter wall: the time of this machine when the round of the loop began, or earlier.
    func clock(_ wall: Int64) -> ClosedRange<Int64>

    /// The changes of expiry rows that are yet to be written; nil, the default, if the journal has
    /// no such rows.
    var expiries: ExpiryBacklog? { get }

    /// Calls `began` with a sentence each time that the journal hears of a newer database. Then
    /// nothing is committed or read until that is found. One caller; default: it never does.
    func watchDoubt(_ began: @escaping @Sendable (String) -> Void)

    /// Counts the sessions of a client up to a limit, if several processes create them. Default: 0,
    /// because this process knows all of them.
    func countSessions(
        of owner: String, upTo limit: Int, _ answer: @escaping ArchiveAnswer<Int>
    )

    /// Calls `lost` with the number of the new era each time that acknowledged history may be lost:
    /// a standby that lacked it was promoted, or a backup was restored. Every session has another
    /// generation then. Several callers; default: it never happens.
    ///
    /// Invariant: the call precedes every answer and every verdict that is of the new era. An
    /// answer to a question from before the call may be of either era.
    func watchHistory(_ lost: @escaping @Sendable (_ era: UInt64) -> Void)
}

extension Journal {
    package func close() async {}

    package func takeCrashSlot() -> CrashSlot { CrashSlot() }

    package func takeCommitter() -> any BatchCommitter { self }

    package var interrupted: [InterruptedWork] { [] }

    package func clock(_ wall: Int64) -> ClosedRange<Int64> {
        wall...max(wall, FileJournal.systemTime() + 1)
    }

    package var expiries: ExpiryBacklog? { nil }

    package func watchDoubt(_ began: @escaping @Sendable (String) -> Void) {}

    package func countSessions(
        of owner: String, upTo limit: Int, _ answer: @escaping ArchiveAnswer<Int>
    ) { answer(.success(0)) }

    package var figures: JournalMetrics? { nil }

    package var ownership: (any Ownership)? { nil }

    package var work: (any WorkFinder)? { nil }

    package func watchHistory(_ lost: @escaping @Sendable (_ era: UInt64) -> Void) {}

    package func ownedSessions() throws(JournalFailure) -> [ExactText: Int] { [:] }

    package var keepsRecords: Bool { archive != nil }
}

/// Commits the batches of one caller.
///
/// Why not only the journal: a database commits with several connections at once, and the order of
/// a caller's batches is kept by one of them.
package protocol BatchCommitter: Sendable {
    /// Commits the part that the batch has of each session, whole or not at all.
    ///
    /// Invariants: batches of one caller end in their order; `ended` is called exactly once if and
    /// only if the result is `.pending`, on any thread, never from inside this call.
    ///
    /// A journal that keeps records accepts a part only if the session's history ends at the
    /// position that the part continues, and refuses it otherwise. More batches may be submitted
    /// before the caller learns that a part is not in the journal. Parts that depend on it, and so
    /// have its lineage, are refused whatever the journal has at their position by then. (With
    /// `.outcomeUnknown`, a part and the parts that depend on it may be in the journal. A later
    /// read of the archive decides.) A part without records may fail alone.
    ///
    /// A part without records of a deleted session is dropped, and counts as committed.
    func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit
}

/// The result of submitting a batch.
package enum Commit: Sendable {
    /// The batch is as durable as this journal can make it.
    case done
    /// The callback reports the end.
    case pending
}

/// The reason that no part of a batch is in the journal: a fault of the environment.
package struct JournalFailure: Error, Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        /// There is no space left: HTTP 507.
        case full
        /// Any other failure of the medium: HTTP 503.
        case unavailable
        /// The medium works, but refuses the values: HTTP 422.
        case refused
        /// Another process decides on the session: HTTP 503.
        case moved
        /// The commit failed so late that its records may be in the journal nevertheless, once:
        /// HTTP 504. In all other cases they are not.
        case outcomeUnknown
    }

    package var reason: Reason
    /// Operation and system message, without secrets; for logs and operators.
    package var detail: String
    /// The detail for clients: without the addresses of other machines, and without values.
    package var publicDetail: String
    /// Whether another attempt may succeed without any change by an operator: somebody holds a
    /// lock, or commits wait for a standby. A server that starts waits for this to end.
    package var isTemporary: Bool

    package init(
        reason: Reason, detail: String, publicDetail: String? = nil, isTemporary: Bool = false
    ) {
        self.reason = reason
        self.detail = detail
        self.publicDetail = publicDetail ?? detail
        self.isTemporary = isTemporary
    }

    /// The same cause, for a commit that may have been written.
    var withOutcomeUnknown: JournalFailure {
        JournalFailure(reason: .outcomeUnknown, detail: detail, publicDetail: publicDetail)
    }
}
