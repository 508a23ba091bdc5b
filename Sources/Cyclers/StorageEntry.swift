/// An event of a storage, for its observer, its loggers and its subscribers.
enum StorageEntry<Value> {
    case willDispatch(CyclerCall)
    case didDispatch(CyclerCall, error: (any Error)?)
    case willMutate(CyclerCall)
    case didMutate(CyclerCall, CommitOutcome)
    case changed(any KeyChange)
    case replaced(Value)
    case committed(Value, version: UInt64, by: CyclerCall?)
    case emitted(any Emission)
    case dropped(DroppedCall, CyclerCall)

    /// Whether a failed commit rolls this event back.
    var isPartOfCommit: Bool {
        switch self {
        case .changed, .replaced, .emitted: true
        default: false
        }
    }

    var isEmission: Bool {
        if case .emitted = self { true } else { false }
    }

    func report(to logger: any CyclerLogger) {
        switch self {
        case .willDispatch(let call): logger.willDispatch(call)
        case .didDispatch(let call, let error): logger.didDispatch(call, error: error)
        case .willMutate(let call): logger.willMutate(call)
        case .didMutate(let call, let outcome): logger.didMutate(call, outcome: outcome)
        case .changed(let change): change.report(to: logger)
        case .replaced(let root): logger.didReplace(root: root)
        case .committed: break
        case .emitted(let emission): emission.report(to: logger)
        case .dropped(let dropped, let call): logger.didDrop(dropped, call)
        }
    }
}

/// A key path that was written; only the conforming type knows its types.
protocol KeyChange {
    func report(to logger: any CyclerLogger)
}

struct StorageChange<Root, Value>: KeyChange {
    let value: Value
    let path: WritableKeyPath<Root, Value>
    let root: Root

    func report(to logger: any CyclerLogger) { logger.didChange(value, for: path, root: root) }
}

/// An activity that is not delivered to its hub yet.
protocol Emission {
    func deliverToHub()
    func report(to logger: any CyclerLogger)
}

struct ActivityEmission<Activity: Sendable>: Emission {
    let activity: Activity
    let number: UInt64
    let call: CyclerCall
    let hub: ActivityHub<Activity>

    func deliverToHub() { hub.deliver(activity, number, call) }
    func report(to logger: any CyclerLogger) { logger.didEmit(activity, call) }
}
