/// What is to be told about a storage, to its observer, its loggers and its subscribers.
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

    /// Whether a commit that fails unsays this.
    var isPartOfCommit: Bool {
        switch self {
        case .changed, .replaced, .emitted: true
        default: false
        }
    }

    var isEmission: Bool {
        if case .emitted = self { true } else { false }
    }

    func tell(_ logger: any CyclerLogger) {
        switch self {
        case .willDispatch(let call): logger.willDispatch(call)
        case .didDispatch(let call, let error): logger.didDispatch(call, error: error)
        case .willMutate(let call): logger.willMutate(call)
        case .didMutate(let call, let outcome): logger.didMutate(call, outcome: outcome)
        case .changed(let change): change.tell(logger)
        case .replaced(let root): logger.didReplace(root: root)
        case .committed: break
        case .emitted(let emission): emission.tell(logger)
        case .dropped(let dropped, let call): logger.didDrop(dropped, call)
        }
    }
}

/// A key path that was written; its types are known to the conforming type alone.
protocol KeyChange {
    func tell(_ logger: any CyclerLogger)
}

struct StorageChange<Root, Value>: KeyChange {
    let value: Value
    let path: WritableKeyPath<Root, Value>
    let root: Root

    func tell(_ logger: any CyclerLogger) { logger.didChange(value, for: path, root: root) }
}

/// An activity on its way to its hub.
protocol Emission {
    func tellHub()
    func tell(_ logger: any CyclerLogger)
}

struct ActivityEmission<Activity: Sendable>: Emission {
    let activity: Activity
    let number: UInt64
    let call: CyclerCall
    let hub: ActivityHub<Activity>

    func tellHub() { hub.tell(activity, number, call) }
    func tell(_ logger: any CyclerLogger) { logger.didEmit(activity, call) }
}
