/// The readers of a host's action log, and their entries.
///
/// Used only while there is a reader: without one an action costs the two counts of
/// ``ActionLogCounter`` and one check.
final class ActionLogState<R: Reactor> {
    typealias Entry = ActionLogEntry<R>

    // A reader of the log: `receive` returns whether it continues.
    struct Reader {
        let receive: (Entry) -> Bool
        let finish: () -> Void
    }

    private let now: @Sendable () -> Duration
    private let follower: (any SessionFollower<R>)?
    private var readers: [UInt64: Reader] = [:]

    init(now: @escaping @Sendable () -> Duration, follower: (any SessionFollower<R>)?) {
        self.now = now
        self.follower = follower
    }

    var isRead: Bool { !readers.isEmpty || follower != nil }
    var readerCount: Int { readers.count }
    var wantsStates: Bool { follower != nil }

    func add(_ reader: Reader, as key: UInt64) { readers[key] = reader }

    func remove(_ key: UInt64) { readers[key] = nil }

    func finish(_ key: UInt64) { readers.removeValue(forKey: key)?.finish() }

    func finishAll() {
        for reader in readers.values { reader.finish() }
        readers = [:]
    }

    func deliver(
        _ event: Entry.Event, at position: ActionLogPosition, of action: ActionTag,
        _ state: R.State? = nil
    ) {
        let entry = Entry(position: position, action: action.number, time: now(), event: event)
        for (key, reader) in readers where !reader.receive(entry) { readers[key] = nil }
        follower?.record(entry, state: state)
    }

    func deliver(_ failure: ReactorFailure, at position: ActionLogPosition) {
        deliver(Self.event(of: failure), at: position, of: failure.action)
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
}
