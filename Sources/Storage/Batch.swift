/// Data that are committed together: of each session completely or not at all.
package struct Batch: Sendable, Equatable {
    /// One for each session that has data here and no records, which were decided upon this end.
    package var expected: [ExpectedEnd] = []
    /// The records; the batches of one session are in its order.
    package var runs: [RecordBatch] = []
    package var snapshots: [Snapshot] = []
    /// The replies to requests with an `Idempotency-Key`, in the commit of their effects.
    package var answers: [StoredAnswer] = []
    /// Actions whose effects are running from this commit on.
    package var started: [RunningAction] = []
    /// Actions whose effects have ended.
    package var settled: [SettledAction] = []
    /// In the order in which they were decided.
    package var timers: [TimerChange] = []
    /// At most one for each session.
    package var tags: [TagChange] = []

    package init() {}

    package mutating func append(_ other: Batch) {
        expected += other.expected
        runs += other.runs
        snapshots += other.snapshots
        answers += other.answers
        started += other.started
        settled += other.settled
        timers += other.timers
        tags += other.tags
    }

    package var isEmpty: Bool {
        runs.isEmpty && snapshots.isEmpty && answers.isEmpty && started.isEmpty
            && settled.isEmpty && timers.isEmpty && tags.isEmpty
    }

    package func removing(_ refused: [SessionKey: CommitRefusal]) -> Batch {
        func stays(_ session: String, _ generation: String) -> Bool {
            refused[SessionKey(session: session, generation: generation)] == nil
        }
        var rest = Batch()
        rest.expected = expected.filter { refused[$0.key] == nil }
        rest.runs = runs.filter { refused[$0.key] == nil }
        rest.snapshots = snapshots.filter { stays($0.session, $0.generation) }
        rest.answers = answers.filter { stays($0.session, $0.generation) }
        rest.started = started.filter { stays($0.session, $0.generation) }
        rest.settled = settled.filter { stays($0.session, $0.generation) }
        rest.timers = timers.filter { stays($0.session, $0.generation) }
        rest.tags = tags.filter { stays($0.session, $0.generation) }
        return rest
    }

    /// The approximate number of bytes to write.
    var bytes: Int {
        runs.reduce(0) { $0 + $1.text.count } + snapshots.reduce(0) { $0 + $1.state.count }
            + answers.reduce(0) { $0 + $1.body.count }
            + started.reduce(0) { $0 + $1.content.count }
            + timers.reduce(0) { $0 + ($1.timer?.content.count ?? 0) }
            + tags.reduce(0) { $0 + $1.bytes }
    }
}

/// The reply to a request with an `Idempotency-Key`, for a repetition of the request.
package struct StoredAnswer: Sendable, Equatable {
    package var session: String
    package var generation: String
    package var key: String
    package var bodyDigest: [UInt8]
    package var status: Int
    package var body: [UInt8]
    /// Milliseconds since 1970 (UTC). Kept for at least 24 hours.
    package var time: Int64

    /// The statuses of requests that were carried out.
    package static let statuses = 200...299
    /// The status that closes a key: a client has asked for the answer to a key of which no request
    /// was executed, and none is executed later. The body is `null`.
    package static let closed = 204

    package init(
        session: String, generation: String, key: String, bodyDigest: [UInt8], status: Int,
        body: [UInt8], time: Int64
    ) {
        self.session = session
        self.generation = generation
        self.key = key
        self.bodyDigest = bodyDigest
        self.status = status
        self.body = body
        self.time = time
    }
}

/// An action whose effects run after its reply: after a restart it is received again or abandoned.
package struct RunningAction: Sendable, Equatable {
    package var session: String
    package var generation: String
    /// The action's number within its session.
    package var action: UInt64
    /// The action as one line of JSON.
    package var content: [UInt8]
    /// The authenticated client that has sent it; nil if there was none.
    package var subject: String?
    /// How many processes in succession have begun its effects. While the action is paused, how
    /// many of these have ended. A failed attempt resets the count to 0.
    package var begun: Int
    /// The number of the present attempt, or of the next one while the action is paused; from 1.
    package var attempt: Int
    /// The milliseconds until the next attempt, from when the row is written or read; nil if the
    /// effects run.
    package var wait: Int64?
    /// While it is paused, the name of the step that has failed; nil if it has none.
    package var step: String?

    package var isPaused: Bool { wait != nil }

    /// The number of a row that is no action: it stores how far the session has read its topics
    /// (ADR-0078). Actions are numbered from 1.
    package static let topicsRead: UInt64 = 0

    /// How many processes in succession may end while an action runs. The action may be the cause:
    /// an effect that traps would end every process that receives the action again.
    package static let beginLimit = 3

    /// The highest count that is read from a journal. A higher one is taken as this.
    package static let countLimit = 1_000_000

    package init(
        session: String, generation: String, action: UInt64, content: [UInt8],
        subject: String? = nil, begun: Int = 1, attempt: Int = 1, wait: Int64? = nil,
        step: String? = nil
    ) {
        self.session = session
        self.generation = generation
        self.action = action
        self.content = content
        self.subject = subject
        self.begun = begun
        self.attempt = attempt
        self.wait = wait
        self.step = step
    }
}

extension SavedSession {
    /// The actions in ``running``, without the row ``RunningAction/topicsRead``.
    package var interrupted: [RunningAction] {
        running.filter { $0.action != RunningAction.topicsRead }
    }
}

/// Identifies a ``RunningAction`` that has ended.
package struct SettledAction: Sendable, Equatable {
    package var session: String
    package var generation: String
    package var action: UInt64

    package init(session: String, generation: String, action: UInt64) {
        self.session = session
        self.generation = generation
        self.action = action
    }
}
