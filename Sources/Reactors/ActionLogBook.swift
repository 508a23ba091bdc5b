/// Numbers what happens in a host, and makes log entries of it for those who read, if somebody does.
///
/// Law: the two counts go on when nobody reads, so a position means the same to every reader.
struct ActionLogBook<R: Reactor> {
    typealias Entry = ActionLogEntry<R>

    // Whoever reads the log: `take` answers whether it goes on.
    struct Reader {
        let take: (Entry) -> Bool
        let finish: () -> Void
    }

    private let follower: (any SessionFollower<R>)?
    private let now: @Sendable () -> Duration
    private var readers: [UInt64: Reader] = [:]
    // Law: whether there is a reader or a follower. The one question of an action that is not read.
    private var isRead: Bool
    private var number: UInt64 = 0
    private var part: UInt32 = 0
    // Why: a step that failed ends as well, and one entry tells it.
    private var failed: RunID?

    init(now: @escaping @Sendable () -> Duration, follower: (any SessionFollower<R>)?) {
        self.now = now
        self.follower = follower
        isRead = follower != nil
    }

    var readerCount: Int { readers.count }
    var wantsStates: Bool { follower != nil }

    mutating func add(_ reader: Reader, as key: UInt64) {
        readers[key] = reader
        isRead = true
    }

    mutating func remove(_ key: UInt64) {
        readers[key] = nil
        isRead = !readers.isEmpty || follower != nil
    }

    mutating func finish(_ key: UInt64) {
        readers[key]?.finish()
        remove(key)
    }

    mutating func finishAll() {
        for reader in readers.values { reader.finish() }
        readers = [:]
        isRead = follower != nil
    }

    /// An entry that is a record.
    mutating func record(
        _ action: ActionTag, _ event: @autoclosure () -> Entry.Event, _ state: R.State? = nil
    ) {
        number += 1
        part = 0
        if isRead { tell(ActionLogPosition(number: number), action, event(), state) }
    }

    /// An entry that is none: it stands before the next record.
    mutating func note(_ action: ActionTag, _ event: @autoclosure () -> Entry.Event) {
        // Wraps after four thousand million notes without a record: then two have one position.
        part &+= 1
        guard isRead else { return }
        tell(ActionLogPosition(number: number + 1, part: part), action, event(), nil)
    }

    mutating func record(_ failure: ReactorFailure) {
        failed = failure.run
        record(failure.action, Self.event(of: failure))
    }

    mutating func noteEnd(of run: RunID, named effectID: EffectID?, _ action: ActionTag) {
        defer { failed = nil }
        guard failed != run else { return }
        note(action, .effectEnded(.init(number: run.number, id: effectID)))
    }

    private static func event(of failure: ReactorFailure) -> Entry.Event {
        switch failure.place {
        case .transformAction, .transformMutation, .transformState:
            return .hookFailed(failure.place, failure.error)
        case .source:
            return .sourceFailed(failure.source ?? "", failure.error)
        case .effect:
            let step = failure.run.map { Entry.Step(number: $0.number, id: failure.effectID) }
            return .effectFailed(step, failure.error)
        }
    }

    private mutating func tell(
        _ position: ActionLogPosition, _ action: ActionTag, _ event: Entry.Event, _ state: R.State?
    ) {
        let entry = Entry(position: position, action: action.number, time: now(), event: event)
        for (key, reader) in readers where !reader.take(entry) { remove(key) }
        follower?.happened(entry, state: state)
    }
}
