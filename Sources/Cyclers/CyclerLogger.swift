/// Receives the events of a cycler, in order. Every method has a default, which has no effect.
///
/// Called synchronously, in the isolation of the cycler: copy the needed values and return. For
/// slow readers use ``Cycler/log(buffer:)``, which delays no other observer. A logger may read the
/// cycler and write to it; its writes are delivered after the current event.
///
/// For one dispatch with one commit: `willDispatch`, `willMutate`, `didChange` for each key path,
/// `didMutate`, `didEmit` for each activity, `didDispatch`. A commit's subscribers are notified
/// between its last `didChange` or `didReplace` and its `didMutate`.
///
/// A logger is added to one storage or cycler. To log several, make one for each, with its name.
///
/// A logger written for Cycler works once its argument `on cycler:` is removed. The defaults of the
/// newer methods call those with Cycler's own signatures, so a logger that implements both forms of
/// an event receives it once, in the newer form.
public protocol CyclerLogger {
    /// An action begins; ``CyclerCall/dispatch`` is its own number.
    func willDispatch(_ call: CyclerCall)

    /// The whole action is complete, including its asynchronous part.
    ///
    /// - Parameters:
    ///   - call: the dispatch.
    ///   - error: the error thrown by its closure; ``DispatchNotCompleted`` if the closure kept its
    ///     context, and the context was released without `complete()`.
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

    /// Cycler's form of ``willDispatch(_:)``.
    func willDispatch(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt)

    /// Cycler's form of ``didDispatch(_:error:)``.
    func didDispatch(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt)

    /// Cycler's form of ``willMutate(_:)``.
    func willMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt)

    /// Cycler's form of ``didMutate(_:outcome:)``.
    func didMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt)

    /// Cycler's form of ``didChange(_:for:root:)``.
    func didChange(value: Any, for keyPath: AnyKeyPath, root: Any)

    /// Cycler's form of ``didReplace(root:)``.
    func didReplace(root: Any)

    /// Cycler's form of ``didEmit(_:_:)``.
    func didEmit(activity: Any, file: StaticString, function: StaticString, line: UInt)
}

extension CyclerLogger {
    /// Calls Cycler's form.
    public func willDispatch(_ call: CyclerCall) {
        willDispatch(
            name: call.name, description: call.description, file: call.file,
            function: call.function, line: call.line)
    }

    /// Calls Cycler's form.
    public func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        didDispatch(
            name: call.name, description: call.description, file: call.file,
            function: call.function, line: call.line)
    }

    /// Calls Cycler's form.
    public func willMutate(_ call: CyclerCall) {
        willMutate(
            name: call.name, description: call.description, file: call.file,
            function: call.function, line: call.line)
    }

    /// Calls Cycler's form.
    public func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        didMutate(
            name: call.name, description: call.description, file: call.file,
            function: call.function, line: call.line)
    }

    /// Calls Cycler's form.
    public func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        didChange(value: value, for: path, root: root)
    }

    /// Calls Cycler's form.
    public func didReplace<Root>(root: Root) {
        let erased: Any = root
        didReplace(root: erased)
    }

    /// Calls Cycler's form.
    public func didEmit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall) {
        didEmit(activity: activity, file: call.file, function: call.function, line: call.line)
    }

    /// Does nothing.
    public func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) {}
}

extension CyclerLogger {
    /// Does nothing.
    public func willDispatch(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {}

    /// Does nothing.
    public func didDispatch(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {}

    /// Does nothing.
    public func willMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {}

    /// Does nothing.
    public func didMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {}

    /// Does nothing.
    public func didChange(value: Any, for keyPath: AnyKeyPath, root: Any) {}

    /// Does nothing.
    public func didReplace(root: Any) {}

    /// Does nothing.
    public func didEmit(activity: Any, file: StaticString, function: StaticString, line: UInt) {}
}
