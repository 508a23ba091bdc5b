package import Feeds

/// The limits of one loop's sessions.
package struct SessionLimits: Sendable {
    /// Sessions in memory. Creating more is refused; waking more puts the least recently used ones
    /// to sleep, and is refused while none of them is at rest.
    package var sessions: Int
    /// Actions in one request.
    package var batch: Int
    /// The limits of feeds, for readers.
    package var feeds: FeedLimits
    /// Replies that wait for the journal; at the limit actions are refused with 503.
    package var unanswered = 20_000
    /// Bytes of posted bodies that are not committed, or whose key is being looked up; at the limit
    /// actions are refused with 503. The last body that is received may exceed it.
    package var uncommittedBytes = 64 << 20
    /// Ended sessions that are remembered: requests for them get 410, for older ones 404.
    package var remembered = 100_000
    /// Waiting actions of a session's Cycler. At the limit an action is refused with 503, or with a
    /// failure record if no request sent it. The same number as the limit of a reactor's running
    /// steps, for the same reason: each is a task, about a kilobyte, and a row in the journal.
    package var runningActions = 1_000
    /// The maximum number of bytes of the JSON of a timer's action, the same as for a request.
    package var timerBytes = 1 << 20
    /// Records between two snapshots of a session, if the journal stores records.
    package var snapshotEvery = 1_000
    /// Bytes of mutations and activities between two snapshots, so that a journal with a limit of
    /// bytes can trim up to a snapshot. If the state is larger than this, its size counts instead.
    package var snapshotBytes: Int

    /// How long an unused session is kept, if its reactor sets no time; nil: for ever.
    package var sessionExpiry: Duration?

    /// The time of a turn from which it is reported; default: never.
    package var slowTurnNanoseconds = Int64.max

    /// Bytes of records and events that one turn of a session may make: a request, or what an
    /// effect does without waiting. An action that would exceed it is refused. It permits two
    /// states of the maximal size.
    package var turnBytes: Int

    package init(
        sessions: Int, batch: Int, retention: Retention, stateBytes: Int = 16_777_216,
        snapshotBytes: Int = 32 << 20
    ) {
        self.snapshotBytes = snapshotBytes
        self.sessions = sessions
        feeds = FeedLimits(retention: retention, stateBytes: stateBytes)
        turnBytes = max(32 << 20, 2 * min(stateBytes, .max / 4))
        self.batch = batch
    }

    package var retention: Retention {
        get { feeds.retention }
        set { feeds.retention = newValue }
    }

    package var deliveries: DeliveryLimits {
        get { feeds.deliveries }
        set { feeds.deliveries = newValue }
    }

    package var selections: Int {
        get { feeds.selections }
        set { feeds.selections = newValue }
    }

    package var subscribers: Int {
        get { feeds.subscribers }
        set { feeds.subscribers = newValue }
    }

    /// An action that would make a larger state is refused.
    package var stateBytes: Int {
        get { feeds.stateBytes }
        set { feeds.stateBytes = newValue }
    }
}
