/// The context of a dispatched action. It holds its cycler weakly.
///
/// Once the cycler is gone, or the action is complete, it commits and emits nothing: each call says
/// so by its result, and loggers get it as dropped. It belongs to the cycler's isolation.
public final class CyclerContext<Owner: Cycler> {
    private weak var owner: Owner?
    // Not the owner: it outlives it here, so that `currentState` is always defined.
    private let storage: Storage<Owner.State>

    /// The dispatch that this is the context of.
    public let call: CyclerCall

    /// Whether the action is over.
    public private(set) var isComplete = false

    init(_ owner: Owner, _ storage: Storage<Owner.State>, _ call: CyclerCall) {
        self.owner = owner
        self.storage = storage
        self.call = call
    }

    /// The present state; once the cycler is gone, the last one it had.
    public var currentState: Owner.State { storage.value }

    /// Runs the closure only if the cycler is there, and keeps it until the closure has ended.
    ///
    /// - Returns: what the closure returns; `nil` if it was not run.
    /// - Throws: what the closure throws.
    @discardableResult
    public func retain<Result, Failure: Error>(
        _ body: (CyclerContext<Owner>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let owner = livingOwner else { return nil }
        return try withExtendedLifetime(owner) { () throws(Failure) in try body(self) }
    }

    /// Changes the state as the ``Cycler``'s own `commit` with a storage does.
    ///
    /// - Returns: whether the closure was called.
    /// - Throws: what the closure throws.
    @discardableResult
    public func commit<Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ mutate: (MutableStorage<Owner.State>) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, name: name, description: description, file: file,
            function: function, line: line)
        guard livingOwner != nil else {
            storage.core.log(.dropped(.commit, call))
            return false
        }
        return try storage.core.commit(call) { () throws(Failure) in try mutate(storage.writer) }
    }

    /// Changes the state in place, as the ``Cycler``'s own form of it does.
    ///
    /// - Returns: whether the closure was called.
    /// - Throws: what the closure throws.
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
        guard livingOwner != nil else {
            storage.core.log(.dropped(.commit, call))
            return false
        }
        return try storage.core.commitInPlace(call, mutate)
    }

    /// Puts another state in the place of the present one.
    ///
    /// - Returns: whether it was done.
    @discardableResult
    public func commit(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line, replace newState: Owner.State
    ) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, name: name, description: description, file: file,
            function: function, line: line)
        guard livingOwner != nil else {
            storage.core.log(.dropped(.commit, call))
            return false
        }
        return storage.core.commit(call) { storage.core.replace(newState) }
    }

    /// Emits an activity as ``Cycler/emit(_:file:function:line:)`` does.
    ///
    /// - Returns: whether it was emitted.
    @discardableResult
    public func emit(
        _ activity: Owner.Activity, file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line
    ) -> Bool {
        let call = CyclerCall(
            dispatch: call.dispatch, file: file, function: function, line: line)
        guard livingOwner != nil else {
            storage.core.log(.dropped(.emission, call))
            return false
        }
        storage.core.emit(activity, call)
        return true
    }

    /// Waits as ``Cycler/saved()`` does.
    ///
    /// - Returns: whether what was committed so far is saved, and the cycler is still there.
    @discardableResult
    public nonisolated(nonsending) func saved() async -> Bool {
        await Task.yield()
        return livingOwner != nil
    }

    /// Says that the action is complete: for a synchronous dispatch whose closure has kept its
    /// context. A second call changes nothing.
    public func complete() { complete(nil) }

    func complete(_ error: (any Error)?) {
        guard !isComplete else { return }
        isComplete = true
        storage.core.log(.didDispatch(call, error: error))
    }

    private var livingOwner: Owner? { isComplete || storage.core.isEnded ? nil : owner }
}
