/// An event of a storage, for its observer, its loggers and its subscribers.
enum StorageEntry<Value> {
    case willDispatch(CyclerCall)
    case didDispatch(CyclerCall, error: (any Error)?)
    case willMutate(CyclerCall)
    case didMutate(CyclerCall, CommitOutcome)
    /// A key path was written. Only the closure knows its types.
    case changed(report: (any CyclerLogger) -> Void)
    case replaced(Value)
    case committed(Value, version: UInt64, by: CyclerCall?)
    /// An activity. Only the closures know its type.
    case emitted(report: (any CyclerLogger) -> Void, deliverToHub: () -> Void)
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
        case .changed(let report), .emitted(let report, _): report(logger)
        case .replaced(let root): logger.didReplace(root: root)
        case .committed: break
        case .dropped(let dropped, let call): logger.didDrop(dropped, call)
        }
    }
}
