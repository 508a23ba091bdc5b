internal import Synchronization

/// The changes of expiry rows that a journal has yet to write (ADR-0084).
///
/// Design: the expiry row of a session is among its timers, with an empty name. The commit that
/// creates the session writes the row, and later commits may give it a later time. The changes here
/// need no commit of the session, and any process may write them. They postpone sessions that have
/// readers, and add the rows of sessions that were created before expiry was switched on. A journal
/// writes them in small steps with its maintenance, within about a second. No write makes a row's
/// time earlier.
package final class ExpiryBacklog: Sendable {
    private struct State {
        var postponed: [SessionKey: Int64] = [:]
        var lives: [String: Int64] = [:]
        var place: Int64?
    }

    /// The changes that a journal writes next.
    package struct Step: Sendable {
        /// Sessions with readers, and their new times: milliseconds since 1970 (UTC), by the
        /// journal's clock.
        package let postponed: [(key: SessionKey, due: Int64)]
        /// By reactor: the time that its sessions without a row get, in milliseconds from now.
        package let lives: [String: Int64]
        /// The sessions after this row may lack an expiry row; nil: none does. The journal advances
        /// it to the last session of the step.
        package var place: Int64?
    }

    /// The maximum number of sessions in a step.
    package static let step = 1_000
    /// The maximum number of sessions that wait to be postponed; then ``postpone(_:until:)`` fails.
    private static let limit = 1_000_000

    private let state = Mutex(State())

    package init() {}

    package var isEmpty: Bool { state.withLock { $0.postponed.isEmpty && $0.place == nil } }

    /// Whether postponed sessions wait, which a shutdown must still write. Missing rows need not be
    /// written then: the next start adds them.
    package var hasPostponed: Bool { state.withLock { !$0.postponed.isEmpty } }

    /// - Returns: false if too many sessions wait. Nothing is postponed then; call it again later.
    @discardableResult
    package func postpone(_ key: SessionKey, until due: Int64) -> Bool {
        state.withLock { state in
            guard state.postponed.count < Self.limit else { return false }
            state.postponed[key] = due
            return true
        }
    }

    /// Adds rows to the sessions that have none, a sixteenth later than necessary. Why: a reader
    /// may have postponed a row that did not exist yet. It does so again only after that sixteenth.
    package func addMissing(_ lives: [String: Int64]) {
        guard !lives.isEmpty else { return }
        state.withLock { ($0.lives, $0.place) = (lives.mapValues { $0 + $0 / 16 }, 0) }
    }

    package func next(_ count: Int = step) -> Step {
        state.withLock { state in
            Step(
                postponed: state.postponed.prefix(count).map { ($0.key, $0.value) },
                lives: state.lives, place: state.place)
        }
    }

    /// Removes the changes of a step that the journal has written.
    package func done(_ step: Step) {
        state.withLock { state in
            for one in step.postponed { state.postponed[one.key] = nil }
            state.place = step.place
        }
    }
}
