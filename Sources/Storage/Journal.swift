/// Where records become permanent.
///
/// Design: a journal commits whole batches, in the order they were handed in, and reports when each
/// is as durable as it can make it. Nothing of a batch is published before that. How long it takes
/// is the journal's business: a commit that is done at once says so and costs no wake-up; any
/// other calls back later, from any thread. Both ways are correct for everybody above.
package protocol Journal: Sendable {
    /// The word for logs, `/readyz` and the `Durability` header: `memory`, `file`, …
    var name: String { get }

    /// The reading side; nil if it keeps no records.
    var archive: (any Archive)? { get }

    /// Whether records must be encoded for this journal; default: if it has an archive. One that
    /// keeps none spares the sessions that work; positions and versions are the same either way.
    var keepsRecords: Bool { get }

    /// Why nothing can be committed just now, for `/readyz`; nil while all is well.
    var failure: JournalFailure? { get }

    /// Counters for `/metrics`; nil, the default, if it has none.
    var figures: JournalMetrics? { get }

    /// Commits the batch whole or not at all.
    ///
    /// Invariants: batches of one caller end in the order in which they were handed in; `ended` is
    /// called exactly once if and only if the answer is `.pending`, on any thread, never from
    /// inside this call; when a batch fails, every batch that its caller has handed in since fails
    /// too, because it was decided upon what did not happen (or, with `.outcomeUnknown`, may not
    /// have: what is read from the archive afterwards decides). More may be on their way before the
    /// caller hears of the failure: a journal that keeps records refuses any that does not continue
    /// what it has (a gap in `number` for a session and generation).
    func commit(
        _ batch: Batch, ended: @escaping @Sendable (JournalFailure?) -> Void
    ) -> Commit

    /// Ends what is under way and lets go of the medium. Default: nothing.
    func close() async

    /// Where one loop says what it carries out. Default: one that nobody reads.
    func takeCrashSlot() -> CrashSlot

    /// The work of the last process when it ended. Default: nothing.
    var interrupted: [InterruptedWork] { get }
}

extension Journal {
    package func close() async {}

    package func takeCrashSlot() -> CrashSlot { CrashSlot() }

    package var interrupted: [InterruptedWork] { [] }

    package var figures: JournalMetrics? { nil }

    /// Whether there is an archive.
    package var keepsRecords: Bool { archive != nil }
}

/// A journal's answer to a batch.
package enum Commit: Sendable {
    /// It is as durable as this journal can make it.
    case done
    /// The callback reports the end.
    case pending
}

/// The world's fault: why a batch is not in the journal.
package struct JournalFailure: Error, Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        /// No room: HTTP 507.
        case full
        /// Any other failure of the medium: HTTP 503.
        case unavailable
        /// The commit failed so late that its records may be in the journal all the same, once:
        /// HTTP 504. With the other two they are not.
        case outcomeUnknown
    }

    package var reason: Reason
    /// Operation and system message, free of secrets; for logs and a problem's `detail`.
    package var detail: String

    package init(reason: Reason, detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// The same cause, of a commit that may have been written.
    var withOutcomeUnknown: JournalFailure {
        JournalFailure(reason: .outcomeUnknown, detail: detail)
    }
}
