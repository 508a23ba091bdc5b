/// The bounds of one loop's sessions.
package struct SessionLimits: Sendable {
    /// Sessions in memory. Creating more is refused; waking more puts the least recently used ones
    /// to sleep, and is refused while none of them is at rest.
    package var sessions: Int
    /// Actions in one request.
    package var batch: Int
    package var retention: Retention
    /// Answers that wait for the journal; further actions are refused with 503.
    package var unanswered = 20_000
    /// Bytes of posted bodies whose commit is under way or about to be, or whose key the journal is
    /// asked for; further actions are refused with 503. The last body that is received may pass it.
    package var uncommittedBytes = 64 << 20
    /// Ended sessions that are remembered, so that they answer 410; older ones answer 404.
    package var remembered = 100_000
    /// Distinct selections of a session that are read at once; a stream of one more is turned away,
    /// to come back. Each is framed once for every commit.
    package var selections = 256
    /// Actions of a session's Cycler that wait for something; at the limit none begins: 503, or a
    /// failure record where nobody asked. The same number as a reactor's running steps, and for the
    /// same reason: each is a task, about a kilobyte, and a row in the journal.
    package var runningActions = 1_000
    /// Records between two snapshots of a session, where the journal keeps them.
    package var snapshotEvery = 1_000
    /// Bytes of mutations and activities between two of them, so that a journal that is to keep so
    /// many can trim up to one. More where the state itself is larger.
    package var snapshotBytes: Int

    /// Bytes of a state's JSON; what would make one larger is refused.
    package var stateBytes: Int

    package init(
        sessions: Int, batch: Int, retention: Retention, stateBytes: Int = 16_777_216,
        snapshotBytes: Int = 32 << 20
    ) {
        self.snapshotBytes = snapshotBytes
        self.sessions = sessions
        self.stateBytes = stateBytes
        self.batch = batch
        self.retention = retention
    }
}
