/// Receives the events of a cycler, in order. Every method has a default that does nothing.
///
/// Called synchronously, in the isolation of the cycler: copy the needed values and return. For
/// slow readers use ``Cycler/log(buffer:)``, which delays no other observer. A logger may read the
/// cycler and write to it; its writes are delivered after the current event.
///
/// For one dispatch with one commit: `willDispatch`, `willMutate`, `didChange` for each key path,
/// `didMutate`, `didEmit` for each activity, `didDispatch`. A commit's subscribers are notified
/// between its last `didChange` or `didReplace` and its `didMutate`.
///
/// A logger is added to one storage or cycler. A logger that serves several is made with their
/// names.
public protocol CyclerLogger {
    /// An action begins; ``CyclerCall/dispatch`` is its own number.
    func willDispatch(_ call: CyclerCall)

    /// The whole action is complete, including its asynchronous part.
    ///
    /// - Parameters:
    ///   - call: the dispatch.
    ///   - error: the error thrown by its closure.
    func didDispatch(_ call: CyclerCall, error: (any Error)?)

    /// A commit begins.
    func willMutate(_ call: CyclerCall)

    /// A commit has ended, possibly with an error.
    func didMutate(_ call: CyclerCall, outcome: CommitOutcome)

    /// A key path was written. Called when the commit or batch that wrote it has succeeded.
    ///
    /// - Parameters:
    ///   - value: the written value.
    ///   - path: the key path.
    ///   - root: the state right after this change.
    func didChange<Root, Value>(_ value: Value, for path: WritableKeyPath<Root, Value>, root: Root)

    /// The whole value was replaced, or a batch of updates has ended.
    func didReplace<Root>(root: Root)

    /// An activity was emitted.
    func didEmit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall)

    /// A commit or an activity was dropped; see ``DroppedCall``.
    func didDrop(_ dropped: DroppedCall, _ call: CyclerCall)
}

extension CyclerLogger {
    /// Does nothing.
    public func willDispatch(_ call: CyclerCall) {}

    /// Does nothing.
    public func didDispatch(_ call: CyclerCall, error: (any Error)?) {}

    /// Does nothing.
    public func willMutate(_ call: CyclerCall) {}

    /// Does nothing.
    public func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {}

    /// Does nothing.
    public func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {}

    /// Does nothing.
    public func didReplace<Root>(root: Root) {}

    /// Does nothing.
    public func didEmit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall) {}

    /// Does nothing.
    public func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) {}
}
