internal import Storage

/// The data of one generation from consecutive batches of a group. It is written as a whole or not
/// at all.
final class Part {
    enum Outcome: Equatable {
        case open
        case committed
        case refused(CommitRefusal)
    }

    let key: SessionKey
    let lineage: UInt64
    let epoch: Int64
    let after: HistoryPosition?
    /// Recognises the part in the database, together with the writer: the number of
    /// its first batch.
    let number: Int64
    /// The position of its last record or note, or `after`.
    private(set) var end: HistoryPosition
    private(set) var runs: [RecordBatch] = []
    private(set) var snapshots: [SnapshotKey: Snapshot] = [:]
    private(set) var answers: [ExactText: StoredAnswer] = [:]
    /// By the action's number; nil: it has ended.
    private(set) var actions: [UInt64: RunningAction?] = [:]
    /// By name. Nil: the timer is removed.
    private(set) var timers: [ExactText: SessionTimer?] = [:]
    /// The last change of the session's tags; nil if there is none.
    private(set) var tags: TagChange?

    var outcome = Outcome.open
    /// Whether it was sent, and not answered: it may be in the database.
    var mayBeWritten = false
    /// The era in which it was first sent without an answer.
    var sentEra: Int64?

    struct SnapshotKey: Hashable {
        var version: UInt64
        var number: UInt64
    }

    init(
        _ key: SessionKey, after: HistoryPosition?, lineage: UInt64, epoch: Int64, number: Int64
    ) {
        self.key = key
        self.after = after
        self.lineage = lineage
        self.epoch = epoch
        self.number = number
        end = after ?? HistoryPosition(0)
    }

    var deleted: Int64? { runs.last?.deleted }

    /// The place in the database: the key of its first row.
    var place: (number: Int64, part: Int64) { after?.column ?? Schema.beginning }

    /// Whether it is more than records that continue a session.
    var needsWholeStatement: Bool {
        runs.isEmpty || after == nil || deleted != nil || !snapshots.isEmpty || !answers.isEmpty
            || !actions.isEmpty || !timers.isEmpty || tags != nil
    }

    func append(_ run: RecordBatch) {
        end = run.last
        if let last = runs.last, !last.isFull, last.deleted == nil {
            runs[runs.count - 1].append(run)
        } else {
            runs.append(run)
        }
    }

    func append(_ snapshot: Snapshot) {
        let key = SnapshotKey(version: snapshot.version, number: snapshot.number)
        snapshots[key] = snapshot
    }

    func append(_ answer: StoredAnswer) { answers[ExactText(answer.key)] = answer }

    func append(_ action: RunningAction) { actions[action.action] = .some(action) }

    func append(_ action: SettledAction) { actions[action.action] = .some(nil) }

    func append(_ change: TagChange) { tags = change }

    func append(_ change: TimerChange) { timers[change.name] = .some(change.timer) }

    /// The approximate number of bytes to send.
    var bytes: Int {
        runs.reduce(128) { $0 + $1.text.count + 64 }
            + snapshots.values.reduce(0) { $0 + $1.state.count }
            + answers.values.reduce(0) { $0 + $1.body.count }
            + actions.values.reduce(0) { $0 + ($1?.content.count ?? 0) }
            + timers.values.reduce(0) { $0 + ($1?.content.count ?? 0) } + (tags?.bytes ?? 0)
    }
}
