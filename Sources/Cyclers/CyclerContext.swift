/// The context of a dispatched action. It holds its cycler weakly.
///
/// Once the cycler is released, or the action is complete, calls have no effect: they report it in
/// their result, and loggers receive them as dropped. It belongs to the cycler's isolation.
public final class CyclerContext<Owner: Cycler> {
    private weak var owner: Owner?
    // Not the owner: the context keeps the storage alive, so that `currentState` is always defined.
    private let storage: Storage<Owner.State>

    /// The dispatch of this context.
    public let call: CyclerCall

    /// Whether the action is complete.
    public private(set) var isComplete = false

    private let uncompleted: UncompletedCalls

    init(_ owner: Owner, _ storage: Storage<Owner.State>, _ call: CyclerCall) {
        self.owner = owner
        self.storage = storage
        self.call = call
        uncompleted = storage.core.uncompleted
    }

    // The last reference may be released in any isolation, so the call is only noted here.
    deinit {
        if !isComplete { uncompleted.add(call) }
    }

    /// The current state; once the cycler is released, its last state.
    public var currentState: Owner.State { storage.value }

    /// Runs the closure only if the cycler exists, and retains it until the closure has ended.
    ///
    /// - Returns: the result of the closure; `nil` if it was not run.
    /// - Throws: the error of the closure.
    @discardableResult
    public func retain<Result, Failure: Error>(
        _ body: (CyclerContext<Owner>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let owner = livingOwner else { return nil }
        return try withExtendedLifetime(owner) { () throws(Failure) in try body(self) }
    }

    /// Changes the state like the ``Cycler``'s own `commit` with a storage.
    ///
    /// - Returns: whether the closure was called.
    /// - Throws: the error of the closure.
    @discardableResult
    public func commit<Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ mutate: (MutableStorage<Owner.State>) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, name: name, description: description, file: file,
            function: function, line: line)
        guard !isDropped(.commit, call) else { return false }
        return try storage.core.commit(call) { () throws(Failure) in try mutate(storage.writer) }
    }

    /// Changes the state in place, like the ``Cycler``'s own form.
    ///
    /// - Returns: whether the closure was called.
    /// - Throws: the error of the closure.
    @_disfavoredOverload
    @discardableResult
    public func commit<Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ mutate: (inout Owner.State) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, name: name, description: description, file: file,
            function: function, line: line)
        guard !isDropped(.commit, call) else { return false }
        return try storage.core.commitInPlace(call, mutate)
    }

    /// Replaces the current state.
    ///
    /// - Returns: whether it was replaced.
    @discardableResult
    public func commit(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line, replace newState: Owner.State
    ) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, name: name, description: description, file: file,
            function: function, line: line)
        guard !isDropped(.commit, call) else { return false }
        return storage.core.commit(call) { storage.core.replace(newState) }
    }

    /// Emits an activity like ``Cycler/emit(_:file:function:line:)``.
    ///
    /// - Returns: whether it was emitted.
    @discardableResult
    public func emit(
        _ activity: Owner.Activity, file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line
    ) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, file: file, function: function, line: line)
        guard !isDropped(.emission, call) else { return false }
        storage.core.emit(activity, call)
        return true
    }

    /// Waits like ``Cycler/saved()``.
    ///
    /// - Returns: whether all earlier commits are saved, and the cycler still exists.
    @discardableResult
    public nonisolated(nonsending) func saved() async -> Bool {
        await Task.yield()
        return livingOwner != nil
    }

    /// For a synchronous dispatch whose closure has kept its context. Another call has no effect.
    ///
    /// If the context is released without it, loggers receive `didDispatch` with
    /// ``DispatchNotCompleted``, before the cycler's next event or at the end of its next dispatch.
    public func complete() { complete(nil) }

    func complete(_ error: (any Error)?) {
        guard !isComplete else { return }
        isComplete = true
        storage.core.log(.didDispatch(call, error: error))
    }

    /// Whether the call has no effect; loggers have received it then.
    private func isDropped(_ dropped: DroppedCall, _ call: CyclerCall) -> Bool {
        guard livingOwner == nil else { return false }
        storage.core.log(.dropped(dropped, call))
        return true
    }

    private var livingOwner: Owner? { isComplete || storage.core.isEnded ? nil : owner }
}
