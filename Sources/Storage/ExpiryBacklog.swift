internal import Synchronization

/// Changes of the expiry of sessions that a journal has yet to write (ADR-0084).
///
/// Design: the expiry of a session is a row among its timers, with an empty name. The creation
/// writes it, and commits of the session set it anew. These changes need no commit, and any process
/// may write them: a later time for a session that is read, and a first one for sessions that
/// were created before they expired. A journal writes it together with its maintenance, in small
/// steps, within about a second. A row only ever gets a later time.
package final class ExpiryBacklog: Sendable {
    private struct State {
        var postponed: [SessionKey: Int64] = [:]
        var lives: [String: Int64] = [:]
        var place: Int64?
    }

    package struct Step: Sendable {
        /// When they expire, in milliseconds since 1970 (UTC), by the journal's clock.
        package let postponed: [(key: SessionKey, due: Int64)]
        /// For each reactor the milliseconds until its sessions expire that have no row.
        package let lives: [String: Int64]
        /// Sessions after this one may have no row; nil: all have one. The journal sets it to the
        /// last one of the step.
        package var place: Int64?
    }

    /// The most sessions of a step.
    package static let step = 1_000
    /// Beyond it sessions are not postponed. The next search for those that expire does that, if
    /// they are still read.
    private static let limit = 1_000_000

    private let state = Mutex(State())

    package init() {}

    package var isEmpty: Bool { state.withLock { $0.postponed.isEmpty && $0.place == nil } }

    /// Whether times of readers wait to be written. The next start adds missing rows.
    package var hasPostponed: Bool { state.withLock { !$0.postponed.isEmpty } }

    package func postpone(_ key: SessionKey, until due: Int64) {
        state.withLock { state in
            guard state.postponed.count < Self.limit else { return }
            state.postponed[key] = due
        }
    }

    /// A sixteenth later, as any other row: a reader that has come before the row was added may not
    /// write it again for so long.
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

    /// The step is written.
    package func done(_ step: Step) {
        state.withLock { state in
            for one in step.postponed { state.postponed[one.key] = nil }
            state.place = step.place
        }
    }
}
